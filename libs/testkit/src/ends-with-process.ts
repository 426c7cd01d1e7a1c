/**
 * What a test has started and must not outlive it, whatever becomes of the test. The runner ends its workers by SIGTERM,
 * at which a process ends without its exit handlers.
 */
const endings = new Set<() => void>();
let isArmed = false;

/** `end` must do its work at once. The answer takes it back. */
export function endsWithProcess(end: () => void): () => void {
  if (!isArmed) {
    isArmed = true;
    process.once('exit', endAll);
    process.once('SIGTERM', () => {
      endAll();
      process.kill(process.pid, 'SIGTERM'); // nobody catches the second one
    });
  }
  endings.add(end);
  return () => void endings.delete(end);
}

function endAll(): void {
  for (const end of endings) end();
  endings.clear();
}
