export { createJobInbox } from './job-inbox.ts';
export { openJobJournal } from './job-journal.ts';
export { createJobLog } from './job-log.ts';
export { createMarkLog } from './mark-log.ts';
export { takeEither } from './stored-records.ts';
