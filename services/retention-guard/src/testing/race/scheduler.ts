/**
 * Chance decides who goes on. Every call that would leave the process waits for its turn; when nobody can go on without
 * one, one of those that wait is drawn and its call takes effect. So one seed is one interleaving of all calls, and gives
 * the same again.
 *
 * Faults of protocols like these show when one part stands still between two of its steps while others do a lot. Even
 * chances for all would hardly ever give that, so every actor has a pace of its own, and now and then one that is drawn is
 * made to stand still instead.
 */
import { type Chance, chanceOf } from '@tidemark/testkit/chance';

export interface Actor {
  readonly name: string;
  /** Waits until it is this actor's turn. Never resolves again once the actor is frozen for ever. */
  turn(): Promise<void>;
}

interface Waiting {
  readonly actor: Actor;
  readonly resume: () => void;
}

/** The slowest goes once while the fastest goes this often. */
const PACE_MAX = 12;
const STALL_ONE_IN = 12;
const STALL_TURNS_MAX = 150;

export class Scheduler {
  readonly chance: Chance;
  readonly #waiting: Waiting[] = [];
  readonly #running = new Set<Promise<void>>();
  readonly #standsStillUntil = new Map<Actor, number>();
  readonly #paces = new Map<Actor, number>();
  #failure: Error | undefined;

  constructor(seed: number) {
    this.chance = chanceOf(seed);
  }

  actor(name: string): Actor {
    const actor: Actor = {
      name,
      turn: () => new Promise((resume) => this.#waiting.push({ actor, resume })),
    };
    this.#paces.set(actor, 1 + this.chance.below(PACE_MAX));
    return actor;
  }

  /** An actor whose failure is the failure of the run. */
  start(work: () => Promise<void>): void {
    const running = work().then(
      () => void this.#running.delete(running),
      (error: unknown) => {
        this.#failure ??= error instanceof Error ? error : new Error(String(error));
        this.#running.delete(running);
      },
    );
    this.#running.add(running);
  }

  /** Until every actor is done; throws the first violation, or the first failure of an actor. */
  async run(options: { readonly turnsMax: number; readonly violation: () => Error | undefined }): Promise<number> {
    const { turnsMax, violation } = options;
    for (let turns = 0; ; turns++) {
      await settle();
      const found = violation();
      if (found !== undefined) throw found;
      if (this.#failure !== undefined) throw this.#failure;
      if (this.#running.size === 0) return turns;
      if (turns >= turnsMax || this.#waiting.length === 0)
        throw new Error(`stuck after ${turns} turns: ${this.#who()}`);
      this.#draw(turns)?.resume();
    }
  }

  #draw(turn: number): Waiting | undefined {
    const ready = this.#waiting.filter(({ actor }) => (this.#standsStillUntil.get(actor) ?? 0) <= turn);
    const among = ready.length > 0 ? ready : this.#waiting;
    const drawn = this.#byPace(among);
    if (drawn === undefined) return undefined;
    if (ready.length > 1 && this.chance.oneIn(STALL_ONE_IN)) {
      this.#standsStillUntil.set(drawn.actor, turn + 1 + this.chance.below(STALL_TURNS_MAX));
      return undefined;
    }
    this.#waiting.splice(this.#waiting.indexOf(drawn), 1);
    return drawn;
  }

  #byPace(among: readonly Waiting[]): Waiting | undefined {
    const paceOf = ({ actor }: Waiting): number => this.#paces.get(actor) ?? 1;
    let at = this.chance.below(among.reduce((sum, each) => sum + paceOf(each), 0));
    return among.find((each) => {
      at -= paceOf(each);
      return at < 0;
    });
  }

  #who(): string {
    return this.#waiting.map(({ actor }) => actor.name).join(', ');
  }
}

/** Lets everything run that needs no turn: promises first, then what was put off to the next round of the event loop. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
