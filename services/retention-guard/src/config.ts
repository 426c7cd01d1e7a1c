/** The settings of a guard process. */
import { jobTopics } from '@tidemark/jobs';
import {
  connectionSettings,
  type Environment,
  flagSetting,
  integerSetting,
  loadConfig,
  programSettings,
  replicationFactorSetting,
  z,
} from '@tidemark/observability';
import { type GuardedGroups, parseGroups } from './groups.ts';
import { type HoldLimits, parseHolds } from './hold.ts';
import { CYCLE_EVERY_MS, CYCLE_EVERY_MS_MAX, CYCLE_EVERY_MS_MIN } from './limits.ts';
import { parsePolicies, type RetentionPolicy } from './policy.ts';

const { TIDEMARK_POSTGRES: _unused, ...connections } = connectionSettings;

export const guardSettings = z
  .object({
    ...connections,
    ...programSettings,
    /** `orders=7d,chat=10GiB,audit=30d+50GiB`: whose truncation the guard owns, and how much of it is kept. */
    TIDEMARK_GUARD_TOPICS: z.string().transform((text, context): readonly RetentionPolicy[] => {
      const parsed = parsePolicies(text);
      if (parsed.kind === 'faults') for (const fault of parsed.faults) context.addIssue(fault);
      else if (parsed.policies.length === 0) context.addIssue('names no topic; say for example orders=7d');
      return parsed.kind === 'parsed' ? parsed.policies : [];
    }),
    /** `orders=billing+analytics,chat=push`: consumer groups whose committed offsets hold a guarded topic, too. */
    TIDEMARK_GUARD_GROUPS: z
      .string()
      .default('')
      .transform((text, context): GuardedGroups => {
        const parsed = parseGroups(text);
        if (parsed.kind === 'faults') for (const fault of parsed.faults) context.addIssue(fault);
        return parsed.kind === 'parsed' ? parsed.groups : new Map();
      }),
    /** `orders=3d,chat=3d/7d`: how long a job may hold what the policy would remove: then an alarm, and after a second time its floor is released. */
    TIDEMARK_GUARD_HOLD: z
      .string()
      .default('')
      .transform((text, context): HoldLimits => {
        const parsed = parseHolds(text);
        if (parsed.kind === 'faults') for (const fault of parsed.faults) context.addIssue(fault);
        return parsed.kind === 'parsed' ? parsed.holds : new Map();
      }),
    /** Settings that let the broker cut by itself are set to -1, and nothing else is touched. */
    TIDEMARK_GUARD_REPAIR: flagSetting(false),
    TIDEMARK_GUARD_EVERY_MS: integerSetting({
      min: CYCLE_EVERY_MS_MIN,
      max: CYCLE_EVERY_MS_MAX,
      default: CYCLE_EVERY_MS,
    }),
    /** One cycle, its outcome on stdout as JSON lines, and the end. */
    TIDEMARK_GUARD_ONCE: flagSetting(false),
    /** Of our own topics, where they do not exist yet. */
    TIDEMARK_REPLICATION_FACTOR: replicationFactorSetting,
  })
  .check(({ value, issues }) => {
    const own = new Set<string>(Object.values(jobTopics(value.TIDEMARK_NAMESPACE)));
    for (const { topic } of value.TIDEMARK_GUARD_TOPICS)
      if (own.has(topic))
        issues.push({
          code: 'custom',
          path: ['TIDEMARK_GUARD_TOPICS'],
          message: `${topic} is a topic of our own and has its own retention`,
          input: value,
        });
    const guarded = new Set(value.TIDEMARK_GUARD_TOPICS.map(({ topic }) => topic));
    for (const name of ['TIDEMARK_GUARD_GROUPS', 'TIDEMARK_GUARD_HOLD'] as const)
      for (const topic of value[name].keys())
        if (!guarded.has(topic))
          issues.push({
            code: 'custom',
            path: [name],
            message: `${topic} is not among TIDEMARK_GUARD_TOPICS, so it would change nothing: name it there, or leave it out here`,
            input: value,
          });
  });

export function readConfig(env: Environment) {
  return loadConfig({ program: 'guard', settings: guardSettings, env });
}
