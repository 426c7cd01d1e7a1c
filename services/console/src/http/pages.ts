/** The pages: a closed set of files, read once. Every view has an address of its own, which answers with the same page. */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

const FOLDER = join(import.meta.dirname, '../pages');

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

const VIEWS = [
  '/',
  '/jobs/:jobId',
  '/series',
  '/series/:series',
  '/lag',
  '/retention',
  '/dead-letters',
  '/dead-letters/:topic',
  '/dead-letters/:topic/:place',
  '/relay',
  '/workers',
];

interface PageFile {
  readonly type: string;
  readonly bytes: Buffer;
  readonly tag: string;
}

export async function registerPages(server: FastifyInstance): Promise<void> {
  const files = await readFiles();
  const index = files.get('index.html');
  if (index === undefined) throw new Error(`${FOLDER} holds no index.html`);
  const hidden = { schema: { hide: true } };
  for (const view of VIEWS) server.get(view, hidden, (request, reply) => send(index, request, reply));
  for (const [name, file] of files) server.get(`/app/${name}`, hidden, (request, reply) => send(file, request, reply));
}

async function readFiles(): Promise<ReadonlyMap<string, PageFile>> {
  const files = new Map<string, PageFile>();
  for (const name of await readdir(FOLDER)) {
    const type = TYPES[extname(name)];
    if (type === undefined) continue;
    const bytes = await readFile(join(FOLDER, name));
    files.set(name, { type, bytes, tag: `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"` });
  }
  return files;
}

/** The browser asks again each time and mostly hears that nothing has changed. */
function send(file: PageFile, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  reply.header('cache-control', 'no-cache').header('etag', file.tag);
  if (request.headers['if-none-match'] === file.tag) return reply.code(304).send();
  return reply.type(file.type).send(file.bytes);
}
