/** Programs of ours that are asked something and end. */
import { spawnProgram } from '@tidemark/testkit';

interface Answer {
  readonly code: number | null;
  readonly out: string;
  readonly notes: string;
}

export function tidemark(env: NodeJS.ProcessEnv, ...args: readonly string[]): Promise<Answer> {
  return answerOf(spawnProgram({ script: 'services/cli/src/main.ts', args, env }));
}

/** One cycle of a guard. */
export function guardOnce(env: NodeJS.ProcessEnv): Promise<Answer> {
  const script = 'services/retention-guard/src/main.ts';
  return answerOf(spawnProgram({ script, env: { ...env, TIDEMARK_GUARD_ONCE: 'true' } }));
}

async function answerOf(program: ReturnType<typeof spawnProgram>): Promise<Answer> {
  const { code } = await program.exit;
  return { code, out: program.stdout(), notes: program.stderr() };
}
