/** The dead letters as Apache's console consumer reads them. */
import { kafkaClient, kafkaTool } from '@tidemark/testkit';

export interface DeadLetterSeen {
  readonly jobId: string;
  readonly partition: number;
  readonly offset: bigint;
  readonly faultClass: string;
}

export async function readDeadLetters(kafka: string, topics: readonly string[]): Promise<readonly DeadLetterSeen[]> {
  const counts = await recordCounts(kafka, topics);
  const read = await Promise.all([...counts].map(([topic, count]) => readTopic(kafka, topic, count)));
  return read.flat();
}

/** Of topics that exist. Nothing in them is transactional, so every offset is a record. */
async function recordCounts(kafka: string, topics: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const admin = kafkaClient({ kafka }).admin();
  await admin.connect();
  try {
    const present = new Set(await admin.listTopics());
    const counts = new Map<string, number>();
    for (const topic of topics.filter((name) => present.has(name))) {
      const offsets = await admin.fetchTopicOffsets(topic);
      counts.set(
        topic,
        offsets.reduce((sum, { high, low }) => sum + Number(high) - Number(low), 0),
      );
    }
    return counts;
  } finally {
    await admin.disconnect();
  }
}

async function readTopic(kafka: string, topic: string, count: number): Promise<readonly DeadLetterSeen[]> {
  if (count === 0) return [];
  const output = await kafkaTool('org.apache.kafka.tools.consumer.ConsoleConsumer', [
    ...['--bootstrap-server', kafka, '--topic', topic, '--from-beginning'],
    ...['--max-messages', String(count), '--timeout-ms', '20000'],
    ...['--formatter-property', 'print.headers=true', '--formatter-property', 'print.value=false'],
  ]);
  const letters = output.split('\n').filter((line) => line.includes('tm_dlq_job:'));
  if (letters.length !== count) throw new Error(`${topic} holds ${count} dead letters, ${letters.length} were read`);
  return letters.map((line) => ({
    jobId: header(line, 'job'),
    partition: Number(header(line, 'partition')),
    offset: BigInt(header(line, 'offset')),
    faultClass: header(line, 'class'),
  }));
}

/** `name:value,name:value`; the values asked for hold no comma. */
function header(line: string, name: string): string {
  const found = new RegExp(`(?:^|,)tm_dlq_${name}:([^,\\t]*)`).exec(line)?.[1];
  if (found === undefined) throw new Error(`a dead letter without tm_dlq_${name}: ${line.slice(0, 300)}`);
  return found;
}
