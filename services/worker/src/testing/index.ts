/** A worker without a distributor: jobs put into the store directly, as tests and benchmarks need them. */
export { type InstalledJob, type InstallOptions, installJob } from './install-job.ts';
export { jobDefinition } from './job-definition.ts';
