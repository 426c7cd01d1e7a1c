/**
 * One TCP connection to one broker: requests go out as they come, and a broker answers them in that order. It knows frames
 * and headers (protocol guide, "Request and Response Headers"), not what is in them. After any fault it is closed, and
 * every request in flight fails, since its state is unknown.
 */
import { createConnection, type Socket } from 'node:net';
import { CONNECT_TIMEOUT_MS, REQUEST_TIMEOUT_MS } from '../../../limits.ts';
import type { Bytes } from '../../../ports.ts';
import { AnswerReader } from './answer-reader.ts';
import { FrameAssembly } from './frame-assembly.ts';
import { RequestWriter } from './request-writer.ts';

export interface Broker {
  readonly host: string;
  readonly port: number;
}

/** A request type in one version, whose headers carry tagged fields (all versions that are used here do). */
export interface Api {
  readonly key: number;
  readonly version: number;
}

interface InFlight {
  readonly correlationId: number;
  readonly deadlineMs: number;
  readonly resolve: (body: AnswerReader) => void;
  readonly reject: (error: Error) => void;
}

const FRAME_LENGTH_BYTES = 4;
const INT32_MAX = 0x7fffffff;

export class BrokerConnection {
  readonly #clientId: string;
  readonly #socket: Socket;
  readonly #frames = new FrameAssembly();
  readonly #connected = Promise.withResolvers<void>();
  readonly #closed = Promise.withResolvers<void>();
  /** Oldest first. */
  readonly #inFlight: InFlight[] = [];
  #correlationId = 0;
  #fault: Error | undefined;
  /** Set while a look at the oldest request is due. */
  #look: NodeJS.Timeout | undefined;

  constructor({ host, port }: Broker, clientId: string) {
    this.#clientId = clientId;
    this.#socket = createConnection({
      host,
      port,
      noDelay: true,
      onread: { buffer: () => this.#frames.space(), callback: (bytes) => this.#received(bytes) },
    });
    const impatience = setTimeout(() => this.#fail(new Error('no connection in time')), CONNECT_TIMEOUT_MS);
    this.#socket.once('connect', () => this.#connected.resolve());
    this.#socket.on('error', (error) => this.#fail(error));
    this.#socket.once('close', () => {
      this.#fail(new Error('the broker closed the connection'));
      this.#closed.resolve();
    });
    // Whoever waits for it hears of the fault; nobody may be waiting.
    this.#connected.promise.catch(() => undefined).finally(() => clearTimeout(impatience));
  }

  /** Rejects with the reason why there is no connection. */
  get connected(): Promise<void> {
    return this.#connected.promise;
  }

  get ended(): boolean {
    return this.#fault !== undefined;
  }

  /** It is connected, as far as is known. */
  get usable(): boolean {
    return !this.ended && !this.#socket.connecting;
  }

  /** The body of the answer. Rejects when there is none in time, or the connection ends first. */
  request(api: Api, write: (body: RequestWriter) => void): Promise<AnswerReader> {
    if (this.#fault !== undefined) return Promise.reject(this.#fault);
    this.#correlationId = (this.#correlationId + 1) & INT32_MAX;
    const correlationId = this.#correlationId;
    const writer = new RequestWriter();
    writer.int32(0).int16(api.key).int16(api.version).int32(correlationId).string(this.#clientId).noTaggedFields();
    write(writer);
    const frame = writer.bytes;
    frame.writeInt32BE(frame.length - FRAME_LENGTH_BYTES, 0);
    this.#socket.write(frame);
    const { promise, resolve, reject } = Promise.withResolvers<AnswerReader>();
    this.#inFlight.push({ correlationId, deadlineMs: performance.now() + REQUEST_TIMEOUT_MS, resolve, reject });
    if (this.#look === undefined) this.#lookIn(REQUEST_TIMEOUT_MS);
    return promise;
  }

  /** Resolves when the socket is gone. */
  close(): Promise<void> {
    this.#fail(new Error('the connection was closed'));
    return this.#closed.promise;
  }

  #received(bytes: number): boolean {
    try {
      const frame = this.#frames.took(bytes);
      if (frame !== undefined) this.#answered(frame);
    } catch (error) {
      this.#fail(error instanceof Error ? error : new Error(String(error)));
    }
    return true;
  }

  #answered(frame: Bytes): void {
    const answer = new AnswerReader(frame);
    const correlationId = answer.int32();
    answer.skipTaggedFields();
    const oldest = this.#inFlight.shift();
    if (oldest?.correlationId !== correlationId) {
      oldest?.reject(new Error('the broker answered another request'));
      throw new Error(`the broker answered request ${correlationId}, not ${oldest?.correlationId ?? 'any'}`);
    }
    oldest.resolve(answer);
  }

  /** One timer for all requests: after it the oldest one's time is over, or a later look is due. */
  #lookIn(ms: number): void {
    this.#look = setTimeout(() => {
      this.#look = undefined;
      const oldest = this.#inFlight[0];
      if (oldest === undefined) return;
      const leftMs = oldest.deadlineMs - performance.now();
      if (leftMs > 0) this.#lookIn(leftMs);
      else this.#fail(new Error(`no answer within ${REQUEST_TIMEOUT_MS} ms`));
    }, ms).unref();
  }

  /** The first fault counts. */
  #fail(fault: Error): void {
    if (this.#fault !== undefined) return;
    this.#fault = fault;
    clearTimeout(this.#look);
    this.#socket.destroy();
    this.#connected.reject(fault);
    for (const { reject } of this.#inFlight.splice(0)) reject(fault);
  }
}
