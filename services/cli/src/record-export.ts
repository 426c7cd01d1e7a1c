/** Records of a topic in a file, with every byte. */
import { type FileHandle, open, rm } from 'node:fs/promises';
import { jsonText } from '@tidemark/contracts';
import type { LogRecord, TopicDescription } from '@tidemark/log';
import { ExitCode, fail } from './exit-code.ts';
import { EXPORT_BUFFER_CHARACTERS } from './limits.ts';

export interface RecordExport {
  write(partition: number, record: LogRecord): Promise<void>;
}

/**
 * A record a line: key, value and values of headers in base64, null where there is none; headers in their order. The file must
 * not be there before, and is not there afterwards when the work fails.
 */
export function exportRecords<T>(
  path: string,
  { topic, topicId }: TopicDescription,
  work: (file: RecordExport) => Promise<T>,
): Promise<T> {
  return withNewFile(path, async (file) => {
    let lines = '';
    const flush = async (): Promise<void> => {
      await file.appendFile(lines);
      lines = '';
    };
    const result = await work({
      async write(partition, { offset, timestampMs, key, value, headers }) {
        const bytes = {
          key: base64(key),
          value: base64(value),
          headers: headers.map(([name, of]) => [name, base64(of)]),
        };
        lines += `${jsonText({ topic, topicId, partition, offset, timestampMs, ...bytes })}\n`;
        if (lines.length >= EXPORT_BUFFER_CHARACTERS) await flush();
      },
    });
    await flush();
    return result;
  });
}

export function exportValue(path: string, value: Buffer): Promise<void> {
  return withNewFile(path, (file) => file.writeFile(value));
}

function base64(bytes: Buffer | null): string | null {
  return bytes === null ? null : bytes.toString('base64');
}

async function withNewFile<T>(path: string, work: (file: FileHandle) => Promise<T>): Promise<T> {
  const file = await open(path, 'wx').catch((error: NodeJS.ErrnoException) => refuse(path, error));
  try {
    const result = await work(file);
    await file.close();
    return result;
  } catch (error) {
    await file.close();
    await rm(path, { force: true });
    throw error;
  }
}

function refuse(path: string, error: NodeJS.ErrnoException): never {
  if (error.code === 'EEXIST')
    return fail(ExitCode.conflict, `file ${path} is there already: name another, or remove it`);
  if (error.code === 'ENOENT') return fail(ExitCode.notFound, `the folder of ${path} does not exist: create it first`);
  return fail(ExitCode.failed, `file ${path} cannot be created: ${error.message}`);
}
