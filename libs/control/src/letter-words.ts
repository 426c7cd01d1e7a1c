/** Why a redrive or an edit is refused, and what a redrive leaves, in the words of command line and console. */
import { deadLetterTopic, placeText } from '@tidemark/jobs';
import { assertNever } from '@tidemark/keyspace';
import type { EditPlan } from './edit-letter.ts';
import type { RedriveCount, RedrivePlan } from './plan-redrive.ts';

export function describeRedriveRefusal(
  topic: string,
  plan: Exclude<RedrivePlan, { readonly kind: 'planned' }>,
): string {
  switch (plan.kind) {
    case 'topic missing':
      return `topic ${topic} does not exist any more, and ${plan.letters} letters are of its records: "tidemark deadletter export ${topic}" keeps them; --recreated take hands them over all the same`;
    case 'topic recreated':
      return `${plan.letters} letters are of a topic ${topic} that was deleted and created again since: the same offsets name other records now, and a sink may take one for the other. --recreated leave leaves them where they are, --recreated take hands them over all the same`;
    case 'too many repeats':
      return `${plan.records} records of ${topic} have several letters, more than one request can name: redrive them by --job or --class, the newest job first`;
    case 'cut short':
      return `partition ${plan.partition} of ${deadLetterTopic(topic)} cannot be read: ${plan.reason}`;
    default:
      return assertNever(plan);
  }
}

/** What stays where it is, and why: a sentence each. */
export function leftByRedrive({ pointers, tooOften, replaced, former }: RedriveCount): readonly string[] {
  const lines: readonly (readonly [number, string])[] = [
    [pointers, 'hold no record, which was too large for their topic'],
    [tooOften, 'were dead-lettered as often as --max-rounds says'],
    [replaced, 'are of records of which a later letter or a corrected copy counts, or that failed too often'],
  ];
  return [
    ...lines.flatMap(([left, why]) => (left === 0 ? [] : [`${left} more ${why}: they are left where they are`])),
    ...(former === 0 ? [] : [`${former} are of a topic that was deleted or created again since`]),
  ];
}

interface RefusedLetter {
  /** Whose record the letter is of. */
  readonly topic: string;
  readonly place: { readonly partition: number; readonly offset: bigint };
}

export function describeEditRefusal(
  { topic, place }: RefusedLetter,
  answer: Exclude<EditPlan, { readonly kind: 'planned' }>,
): string {
  const letters = deadLetterTopic(topic);
  const at = `${placeText(place)} of ${letters}`;
  switch (answer.kind) {
    case 'not found':
      return `no dead letter at ${at} (retention may have taken it)`;
    case 'pointer':
      return `letter ${at} holds no record, which was too large for the archive: produce a corrected one to ${topic}`;
    case 'nothing changes':
      return `letter ${at} has this key and value already; nothing was written`;
    case 'not the newest':
      return `letter ${answer.newest} of ${letters} is of the same record and stands in the place of ${placeText(place)}: edit that one`;
    case 'too many followers':
      return `${answer.records} later letters of the key (${answer.bytes} bytes) would have to be copied behind it, which are too many for one transaction; redrive first what can be done as it is`;
    case 'cut short':
      return `partition ${place.partition} of ${letters} cannot be read: ${answer.reason}`;
    case 'overtaken':
      return `somebody else edited a letter of ${letters} at the same time, and nothing was written: look again, and repeat it`;
    default:
      return assertNever(answer);
  }
}
