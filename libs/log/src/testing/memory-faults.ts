/** Makes the next calls of the in-memory cluster fail, before they do anything or after they did it all. */
export type MemoryOperation =
  | 'read'
  | 'describe'
  | 'offsets'
  | 'ensure'
  | 'changeSettings'
  | 'committedOffsets'
  | 'disks'
  | 'deleteRecords'
  | 'openWriter'
  | 'openTransactionalWriter'
  | 'append'
  | 'transactions'
  | 'commit';

/** `after`: the operation took effect and only its answer is lost. For `append` and `commit`. */
export type FaultMoment = 'before' | 'after';

export class MemoryFaults {
  readonly #planned: { readonly operation: MemoryOperation; readonly moment: FaultMoment; readonly error: Error }[] =
    [];

  /** The next call of the operation throws the error; planned several times, as many calls do. */
  failNext(operation: MemoryOperation, error: Error, moment: FaultMoment = 'before'): void {
    this.#planned.push({ operation, moment, error });
  }

  get pending(): number {
    return this.#planned.length;
  }

  check(operation: MemoryOperation, moment: FaultMoment = 'before'): void {
    const index = this.#planned.findIndex((fault) => fault.operation === operation && fault.moment === moment);
    if (index < 0) return;
    const [fault] = this.#planned.splice(index, 1);
    if (fault !== undefined) throw fault.error;
  }
}
