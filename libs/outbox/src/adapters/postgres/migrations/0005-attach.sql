-- attach and detach. Creating a trigger waits for every writer of the table, and everybody who comes later waits behind
-- it; so the wait is short, nothing else may be in that transaction, and whoever is in the way is named.

create function {{schema}}.blockers_of(target regclass, also_readers boolean) returns text
language sql stable set search_path = pg_catalog, pg_temp
as $function$
  select string_agg(
    format('pid %s (%s, %s, transaction open for %s)', held.pid,
      coalesce(nullif(activity.application_name, ''), 'no application name'), activity.usename,
      date_trunc('second', clock_timestamp() - activity.xact_start)), '; ')
  from (select distinct pid from pg_locks
        where locktype = 'relation' and relation = target and granted and pid <> pg_backend_pid()
          and (also_readers or mode not in ('AccessShareLock', 'RowShareLock'))
          and database = (select oid from pg_database where datname = current_database())) as held
  join pg_stat_activity as activity using (pid)
$function$;

create function {{schema}}.require_own_transaction(action text) returns void
language plpgsql set search_path = pg_catalog, pg_temp
as $function$
begin
  if pg_current_xact_id_if_assigned() is not null then
    raise exception '% must be the first and only statement of its transaction', action
      using errcode = 'active_sql_transaction',
            detail = 'What the transaction has locked already would stay locked while it waits for the table.';
  end if;
end
$function$;

-- The columns that identify a row: the given ones when they are NOT NULL and hold a unique constraint, else the primary key.
create function {{schema}}.key_columns_of(target regclass, wanted text[]) returns text[]
language plpgsql stable set search_path = pg_catalog, pg_temp
as $function$
declare
  found text[];
  missing text;
begin
  if wanted is null then
    select array_agg(a.attname::text order by k.place) into found
      from pg_index i
      cross join unnest(i.indkey::int2[]) with ordinality as k (attnum, place)
      join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
      where i.indrelid = target and i.indisprimary and k.place <= i.indnkeyatts;
    if found is null then
      raise exception 'table % has no primary key, so its rows cannot be told apart', target
        using errcode = 'invalid_table_definition',
              hint = 'Add a primary key, name key_columns that are NOT NULL and unique, or attach it as append_only with key_columns.';
    end if;
    return found;
  end if;
  select string_agg(quote_literal(w.name), ', ') into missing
    from unnest(wanted) as w (name)
    where not exists (select from pg_attribute a
      where a.attrelid = target and a.attname = w.name and a.attnum > 0 and not a.attisdropped);
  if missing is not null or cardinality(wanted) = 0 then
    raise exception 'table % has no column %', target, coalesce(missing, 'to use as key')
      using errcode = 'undefined_column';
  end if;
  return wanted;
end
$function$;

-- When the server finds out that two rows have one key: `at once` or `at commit` (deferrable); null: never.
create function {{schema}}.uniqueness_of(target regclass, columns text[]) returns text
language sql stable set search_path = pg_catalog, pg_temp
as $function$
  select case when bool_or(i.indimmediate) then 'at once' when count(*) > 0 then 'at commit' end
  from pg_index i
  where i.indrelid = target and i.indisunique and i.indisvalid and i.indpred is null and i.indexprs is null
    and (select array_agg(a.attname::text)
         from unnest(i.indkey::int2[]) with ordinality as k (attnum, place)
         join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
         where k.place <= i.indnkeyatts) <@ columns
    and not exists (select from pg_attribute a
                    where a.attrelid = target and a.attname = any (columns) and not a.attnotnull)
$function$;

create function {{schema}}.check_target(target regclass) returns void
language plpgsql stable set search_path = pg_catalog, pg_temp
as $function$
declare
  kind "char";
  is_partition boolean;
  persistence "char";
begin
  select relkind, relispartition, relpersistence into kind, is_partition, persistence from pg_class where oid = target;
  if kind not in ('r', 'p') or persistence = 't' then
    raise exception '% is not a table that can be captured', target
      using errcode = 'wrong_object_type', hint = 'Ordinary and partitioned tables can.';
  end if;
  if is_partition then
    raise exception '% is a partition', target
      using errcode = 'wrong_object_type', hint = format('Attach %s, which it belongs to.', pg_partition_root(target));
  end if;
  if not has_table_privilege((select proowner from pg_proc where oid = '{{schema}}.capture()'::regprocedure), target, 'select') then
    raise exception 'the owner of schema % may not read %', {{namespace}}, target using errcode = 'insufficient_privilege';
  end if;
end
$function$;

-- Row triggers are cloned to partitions, also to later ones; this one is not, because it belongs to the statement.
create function {{schema}}.guard_truncate(part regclass) returns void
language plpgsql set search_path = pg_catalog, pg_temp set lock_timeout = '250ms'
as $function$
begin
  execute format('create or replace trigger %I before truncate on %s for each statement execute function {{schema}}.refuse_truncate()',
    {{truncate_trigger}}, part);
  execute format('alter table only %s enable always trigger %I', part, {{truncate_trigger}});
end
$function$;

-- Partitions that were added after their table was attached: TRUNCATE would empty them without a word.
create function {{schema}}.unguarded_partitions() returns setof regclass
language sql stable set search_path = pg_catalog, pg_temp
as $function$
  select part.relid from {{schema}}.captures c cross join pg_partition_tree(c.target) as part
  where not exists (select from pg_trigger g where g.tgrelid = part.relid and g.tgname = {{truncate_trigger}})
$function$;

create function {{schema}}.attach(
  target regclass, topic text, key_columns text[] default null, event_type text default null,
  append_only boolean default false
) returns void
language plpgsql set search_path = pg_catalog, pg_temp set lock_timeout = '250ms'
as $function$
declare
  columns text[];
  uniqueness text;
  mode text;
  type_name text;
  arguments text;
  other regclass;
  part regclass;
begin
  perform {{schema}}.require_own_transaction('attach');
  perform {{schema}}.check_topic(attach.topic);
  perform {{schema}}.check_target(target);
  columns := {{schema}}.key_columns_of(target, attach.key_columns);
  uniqueness := {{schema}}.uniqueness_of(target, columns);
  if uniqueness is null and not (append_only and attach.key_columns is not null) then
    raise exception 'the key (%) of % must be NOT NULL and have a unique constraint', array_to_string(columns, ', '), target
      using errcode = 'invalid_table_definition',
            hint = 'Only a table that is attached as append_only may have a key that several rows share.';
  end if;
  mode := case
    when append_only and uniqueness is null then 'append-ordered'
    when append_only then 'append'
    when uniqueness = 'at commit' then 'mutable-ordered'
    else 'mutable'
  end;
  type_name := coalesce(attach.event_type, (select n.nspname || '.' || c.relname
    from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.oid = target));

  delete from {{schema}}.captures c where not exists (select from pg_class where oid = c.target);
  select c.target into other from {{schema}}.captures c where c.topic = attach.topic and c.target <> attach.target;
  if found then
    raise exception 'topic % already holds the rows of %, whose keys could be mistaken for those of %', attach.topic, other, target
      using errcode = 'unique_violation';
  end if;
  insert into {{schema}}.captures as c (target, topic, key_columns, event_type, append_only)
    values (attach.target, attach.topic, columns, type_name, attach.append_only)
    on conflict on constraint captures_pkey do update
      set topic = excluded.topic, key_columns = excluded.key_columns, event_type = excluded.event_type,
          append_only = excluded.append_only, attached_at = now();

  select string_agg(quote_literal(a), ', ' order by place) into arguments
    from unnest(array[attach.topic, type_name, mode] || columns) with ordinality as given (a, place);
  -- OR REPLACE, because dropping a trigger would have to wait for readers, too.
  execute format('create or replace trigger %I after insert or update or delete on %s for each row execute function {{schema}}.capture(%s)',
    {{capture_trigger}}, target, arguments);
  -- ALWAYS: rows that arrive by replication are rows, too. Each partition has a clone of the trigger with its own switch.
  for part in select relid from pg_partition_tree(target) union select target loop
    execute format('alter table only %s enable always trigger %I', part, {{capture_trigger}});
    perform {{schema}}.guard_truncate(part);
  end loop;
exception when lock_not_available then
  raise exception 'cannot attach %: it is in use by %', target, coalesce({{schema}}.blockers_of(target, false), 'a transaction that has just ended')
    using errcode = 'lock_not_available', hint = 'Try again when that transaction has ended.';
end
$function$;

create function {{schema}}.detach(target regclass) returns void
language plpgsql set search_path = pg_catalog, pg_temp set lock_timeout = '250ms'
as $function$
declare
  part regclass;
begin
  perform {{schema}}.require_own_transaction('detach');
  if not exists (select from {{schema}}.captures c where c.target = detach.target) then
    raise exception '% is not attached', target using errcode = 'undefined_object';
  end if;
  execute format('drop trigger if exists %I on %s', {{capture_trigger}}, target);
  for part in select relid from pg_partition_tree(target) union select target loop
    execute format('drop trigger if exists %I on %s', {{truncate_trigger}}, part);
  end loop;
  delete from {{schema}}.captures c where c.target = detach.target;
exception when lock_not_available then
  raise exception 'cannot detach %: it is in use by %', target, coalesce({{schema}}.blockers_of(target, true), 'a transaction that has just ended')
    using errcode = 'lock_not_available', hint = 'Try again when that transaction has ended.';
end
$function$;

revoke all on function
  {{schema}}.blockers_of(regclass, boolean), {{schema}}.require_own_transaction(text), {{schema}}.key_columns_of(regclass, text[]),
  {{schema}}.uniqueness_of(regclass, text[]), {{schema}}.check_target(regclass), {{schema}}.guard_truncate(regclass),
  {{schema}}.unguarded_partitions(),
  {{schema}}.attach(regclass, text, text[], text, boolean), {{schema}}.detach(regclass)
  from public;
