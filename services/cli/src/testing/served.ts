import { type environmentOf, type SpawnedProgram, spawnProgram } from '@tidemark/testkit';
import { scriptOf } from '../repository.ts';

/** A distributor, and a worker with these settings, as processes of their own; whoever starts them ends them. */
export function startServices(
  env: ReturnType<typeof environmentOf>,
  worker: Readonly<Record<string, string>>,
): readonly SpawnedProgram[] {
  return [
    spawnProgram({ script: scriptOf('distributor'), env }),
    spawnProgram({ script: scriptOf('worker'), env: { ...env, ...worker } }),
  ];
}
