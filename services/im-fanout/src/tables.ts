/**
 * The business side of the fan-out, in a schema of its own: what an instant messenger would have had before Tidemark
 * came, and what the handler writes. Ids are given by the application.
 */

import { tokenTableSql } from '@tidemark/handlers/postgres';
import { ErrorClass, TidemarkError } from '@tidemark/keyspace';
import type { ClientBase } from 'pg';
import { SCHEMA_NAME_PATTERN } from './limits.ts';

export const DEFAULT_SCHEMA = 'im';

/** Throws TidemarkError `config`: the name becomes part of SQL, so only plain identifiers pass. */
export function checkedSchema(name: string): string {
  if (SCHEMA_NAME_PATTERN.test(name)) return name;
  throw new TidemarkError({
    code: 'BAD_SCHEMA_NAME',
    class: ErrorClass.config,
    message: `"${name}" cannot be the schema of the messages: give lower-case letters, digits and _, at most 63, as the parameter "schema".`,
  });
}

export async function createTables(client: ClientBase, schemaName: string): Promise<void> {
  const schema = checkedSchema(schemaName);
  await client.query(`
    create schema ${schema};

    create table ${schema}.users (id bigint primary key, name text not null);

    create table ${schema}.groups (id bigint primary key, title text not null);

    create table ${schema}.members (
      group_id  bigint not null references ${schema}.groups,
      member_id bigint not null references ${schema}.users,
      left_at   timestamptz,
      muted     boolean not null default false,
      joined_at timestamptz not null default clock_timestamp(),
      primary key (group_id, member_id)
    );

    create table ${schema}.messages (
      id          bigint primary key,
      group_id    bigint not null references ${schema}.groups,
      sender_id   bigint not null references ${schema}.users,
      body        text not null,
      posted_at   timestamptz not null default clock_timestamp(),
      recalled_at timestamptz
    );

    -- The unique key makes a second delivery of the same message harmless. No foreign keys: they would be looked up for each row.
    create table ${schema}.inbox (
      message_id   bigint not null,
      member_id    bigint not null,
      delivered_at timestamptz not null default now(),
      primary key (message_id, member_id)
    );

    -- Every decision not to deliver, one by one; without a member it is about the whole message.
    create table ${schema}.fanout_skips (
      job_id     text not null,
      message_id bigint not null,
      member_id  bigint,
      reason     text not null
    );
    create unique index on ${schema}.fanout_skips (job_id, message_id, coalesce(member_id, -1));

    -- What the application had seen committed when it asked for a job, in the transaction that asked.
    create table ${schema}.fanout_requests (job_id text not null, message_id bigint not null, primary key (job_id, message_id));

    -- Every record a batch handled, each time it did, without a unique key: how often something was delivered again.
    create table ${schema}.fanout_deliveries (
      job_id        text not null,
      range_id      text not null,
      record_offset bigint not null,
      token         text collate "C" not null,
      delivered_at  timestamptz not null default clock_timestamp()
    );

    -- The youngest token that wrote for a range.
    ${tokenTableSql(`${schema}.fanout_tokens`)};`);
}

export async function dropTables(client: ClientBase, schemaName: string): Promise<void> {
  await client.query(`drop schema if exists ${checkedSchema(schemaName)} cascade`);
}
