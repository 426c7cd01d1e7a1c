/** What a relay with an outbox of its own gives to the peers' harness: our outbox, and the harness's table as a view over it. */
import { outboxMigrations } from '@tidemark/outbox/postgres';

/** An insert into the view is what an application does: a call of `publish`, with all its checks and its lock. */
export function relaySetupSql(namespace: string): string {
  const schema = `"${namespace}"`;
  const migrations = outboxMigrations(namespace).map(
    ({ version, name, sql }) =>
      `${sql};\ninsert into ${schema}.migrations (version, name) values (${version}, '${name}');`,
  );
  return `
create schema ${schema};
create table ${schema}.migrations (version int primary key, name text not null, applied_at timestamptz not null default now());
${migrations.join('\n')}
create view outboxevent as
  select id, topic::varchar as aggregatetype, key::varchar as aggregateid, type::varchar as type, payload from ${schema}.outbox;
create function publish_outboxevent() returns trigger language plpgsql as $function$
begin
  perform ${schema}.publish(new.aggregatetype, new.aggregateid, new.type, new.payload);
  return new;
end
$function$;
create trigger publish instead of insert on outboxevent for each row execute function publish_outboxevent();
`;
}
