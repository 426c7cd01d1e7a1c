/** A redrive as somebody asks for it, and the job that it is. What jobs there are is an argument; only an id is drawn. */
import { randomUUID } from 'node:crypto';
import type { JobRequested, JobState } from '@tidemark/contracts';
import { deadLetterTopic, isSameContent, LetterParameter, newRequest } from '@tidemark/jobs';

export interface RedriveWish {
  /** Whose records the letters are of. */
  readonly topic: string;
  /** Only letters of this job; its handler and parameters are taken. */
  readonly job?: string | undefined;
  readonly faultClass?: string | undefined;
  /** Who gets them; must be named without a job. */
  readonly handler?: string | undefined;
  readonly parameters: Readonly<Record<string, string>>;
  /** Of the new job; drawn when left out. */
  readonly id?: string | undefined;
  readonly ordering: string;
  readonly rate: number;
  /** What was dead-lettered so often is left alone. */
  readonly roundsMax: number;
  readonly deadLettersMax?: bigint | undefined;
  readonly acceptDuplicates: boolean;
  readonly reason: string;
  readonly actor: string;
}

export type RedriveRequest =
  | { readonly kind: 'request'; readonly request: JobRequested }
  | { readonly kind: 'unknown job'; readonly jobId: string }
  | { readonly kind: 'no handler' };

/** The job before its letters were looked at: `planRedrive` says how far it goes. */
export function redriveRequest(states: ReadonlyMap<string, JobState>, wish: RedriveWish): RedriveRequest {
  const former = wish.job === undefined ? undefined : states.get(wish.job);
  if (wish.job !== undefined && former === undefined) return { kind: 'unknown job', jobId: wish.job };
  const handler = wish.handler ?? former?.request.handler;
  if (handler === undefined) return { kind: 'no handler' };
  // Parameters and consent were given for that handler, and mean nothing to another one.
  const sameHandler = handler === former?.request.handler ? former.request : undefined;
  const request = newRequest({
    jobId: wish.id ?? `redrive-${randomUUID()}`,
    topic: deadLetterTopic(wish.topic),
    handler,
    parameters: {
      ...(sameHandler === undefined ? {} : withoutLetters(sameHandler.parameters)),
      ...wish.parameters,
      ...(wish.job === undefined ? {} : { [LetterParameter.job]: wish.job }),
      ...(wish.faultClass === undefined ? {} : { [LetterParameter.faultClass]: wish.faultClass }),
      [LetterParameter.roundsMax]: String(wish.roundsMax),
    },
    ordering: wish.ordering,
    rate: wish.rate,
    acceptDuplicates: wish.acceptDuplicates || sameHandler?.acceptDuplicates === true,
    note: wish.reason,
    requestedBy: wish.actor,
    ...(wish.deadLettersMax === undefined ? {} : { deadLettersMax: wish.deadLettersMax }),
  });
  return { kind: 'request', request };
}

/** The job of this id, if it was asked for with these words: which letters there were then is no part of the wish. */
export function sameRedrive(states: ReadonlyMap<string, JobState>, asked: JobRequested): JobRequested | undefined {
  const present = states.get(asked.jobId)?.request;
  if (present === undefined) return undefined;
  const { [LetterParameter.newest]: _newest, [LetterParameter.topicId]: _topicId, ...parameters } = present.parameters;
  return isSameContent(asked, { ...present, parameters, to: asked.to }) ? present : undefined;
}

/** Which letters a former redrive was about says nothing of this one. */
function withoutLetters(parameters: JobRequested['parameters']): JobRequested['parameters'] {
  const names: ReadonlySet<string> = new Set(Object.values(LetterParameter));
  return Object.fromEntries(Object.entries(parameters).filter(([name]) => !names.has(name)));
}
