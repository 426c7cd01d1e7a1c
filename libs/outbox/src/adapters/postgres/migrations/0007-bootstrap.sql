-- Bootstrap: the rows that a table had before it was attached, told once by a walk along its unique key, chunk by chunk.
-- A chunk is a writer like any other: it draws the position of a row under the lock that orders the writers of its key,
-- so its events and those of capture need no telling apart. Where it stands moves in the transaction that tells the rows.

create table {{schema}}.bootstraps (
  target         regclass primary key,
  attached_at    timestamptz not null, -- of the capture that it belongs to; attached again, the walk begins anew
  walk           text not null,        -- the order of the walk; it must be the same until the end
  place          text[],               -- the key of the last row told, in that order; null before the first
  rows_told      bigint not null default 0,
  chunks         bigint not null default 0,
  rows_estimated bigint,               -- by the statistics, at the start; null without
  started_at     timestamptz not null default clock_timestamp(),
  updated_at     timestamptz not null default clock_timestamp(),
  finished_at    timestamptz
);

-- The key of an event as SQL over a row: the text of the key column, of several a JSON array. For capture and bootstrap.
create function {{schema}}.key_expression(columns text[], of_row text) returns text
language plpgsql immutable set search_path = pg_catalog, pg_temp
as $function$
declare
  texts text[] := '{}';
  name text;
begin
  foreach name in array columns loop
    texts := texts || format('%s.%I', of_row, name);
  end loop;
  return case when cardinality(columns) = 1 then texts[1] || '::text'
    else format('jsonb_build_array(%s)::text', array_to_string(texts, ', ')) end;
end
$function$;

-- What the capture trigger of a table was given: topic, event type, mode, key columns ...; empty when it has none, or one
-- that does not always fire. They stand there one after the other, each ended by a zero byte.
create function {{schema}}.trigger_arguments(target regclass) returns text[]
language plpgsql stable set search_path = pg_catalog, pg_temp
as $function$
declare
  rest bytea;
  arguments text[] := '{}';
  ending int;
begin
  select tgargs into rest from pg_trigger where tgrelid = target and tgname = {{capture_trigger}} and tgenabled = 'A';
  while length(rest) > 0 loop
    ending := position('\x00'::bytea in rest);
    arguments := arguments || convert_from(substring(rest for ending - 1), getdatabaseencoding());
    rest := substring(rest from ending + 1);
  end loop;
  return arguments;
end
$function$;

-- How to walk along a unique key, as SQL over a row `t`: the order there and back, the columns, the place of a row, and
-- the conditions "behind the place $1" and "up to the place $2"; all null without such a key. Collations and operators are those of
-- the index, with their schemas: the search path would not find those of other types, or take others for them.
create function {{schema}}.walk_along(
  target regclass, key_columns text[],
  out there text, out back text, out columns text, out place text, out behind text, out up_to text
)
language plpgsql stable set search_path = pg_catalog, pg_temp set quote_all_identifiers = off
as $function$
declare
  names text[];
  types text[];
  less text[];
  at_most text[];
  equal text[];
  at_least text[];
  greater text[];
begin
  with chosen as (
    select i.* from pg_index i
    where i.indrelid = target and i.indisunique and i.indisvalid and i.indpred is null and i.indexprs is null
      and (select bool_and(a.attnotnull and a.attname = any (key_columns))
           from unnest(i.indkey::int2[]) with ordinality as k (attnum, number)
           join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
           where k.number <= i.indnkeyatts)
    order by i.indisprimary desc, i.indnkeyatts desc, i.indexrelid limit 1
  ), keys as (
    select k.number, format('t.%I', a.attname) || coalesce(' collate ' || nullif(k.collation_id, 0)::regcollation, '') as name,
      format('t.%I', a.attname) as plain, format_type(a.atttypid, a.atttypmod) as type,
      array(select format('operator(%I.%s)', opn.nspname, op.oprname)
            from pg_amop m join pg_operator op on op.oid = m.amopopr join pg_namespace opn on opn.oid = op.oprnamespace
            where m.amopfamily = o.opcfamily and m.amoplefttype = o.opcintype and m.amoprighttype = o.opcintype
            order by m.amopstrategy) as operators -- of a btree: < <= = >= >
    from chosen
    cross join unnest(chosen.indkey::int2[], chosen.indclass::oid[], chosen.indcollation::oid[])
      with ordinality as k (attnum, class, collation_id, number)
    join pg_attribute a on a.attrelid = chosen.indrelid and a.attnum = k.attnum
    join pg_opclass o on o.oid = k.class
    where k.number <= chosen.indnkeyatts
  )
  select array_agg(name order by number), array_agg(type order by number),
      array_agg(operators[1] order by number), array_agg(operators[2] order by number), array_agg(operators[3] order by number),
      array_agg(operators[4] order by number), array_agg(operators[5] order by number),
      string_agg(name || ' using ' || operators[1], ', ' order by number),
      string_agg(name || ' using ' || operators[5], ', ' order by number), string_agg(plain, ', ' order by number),
      format('array[%s]', string_agg(plain || '::text', ', ' order by number))
    into names, types, less, at_most, equal, at_least, greater, there, back, columns, place
    from keys;
  if names is null then
    place := null;
    return;
  end if;

  -- A comparison of whole rows lets the index start in the middle of a long group. It needs operators of one name.
  if greater[1] = all (greater) and at_most[1] = all (at_most) then
    select format('row(%s) %s row(%s)', array_to_string(names, ', '), greater[1], string_agg(format('($1)[%s]::%s', number, type), ', ' order by number)),
        format('row(%s) %s row(%s)', array_to_string(names, ', '), at_most[1], string_agg(format('($2)[%s]::%s', number, type), ', ' order by number))
      into behind, up_to
      from unnest(types) with ordinality as given (type, number);
    return;
  end if;
  for i in reverse cardinality(names) .. 1 loop
    if behind is null then
      behind := format('%s %s ($1)[%s]::%s', names[i], greater[i], i, types[i]);
      up_to := format('%s %s ($2)[%s]::%s', names[i], at_most[i], i, types[i]);
    else
      behind := format('(%1$s %2$s ($1)[%5$s]::%6$s or (%1$s %3$s ($1)[%5$s]::%6$s and %4$s))', names[i], greater[i], equal[i], behind, i, types[i]);
      up_to := format('(%1$s %2$s ($2)[%5$s]::%6$s or (%1$s %3$s ($2)[%5$s]::%6$s and %4$s))', names[i], less[i], equal[i], up_to, i, types[i]);
    end if;
  end loop;
  behind := format('%s %s ($1)[1]::%s and %s', names[1], at_least[1], types[1], behind);
  up_to := format('%s %s ($2)[1]::%s and %s', names[1], at_most[1], types[1], up_to);
end
$function$;

create function {{schema}}.bootstrap_source(target regclass) returns text
language sql stable set search_path = pg_catalog, pg_temp
as $function$
  -- ONLY keeps tables that inherit from this one out, as in capture; partitions are the table itself.
  select case when relkind = 'p' then '' else 'only ' end || target::text || ' t' from pg_class where oid = target
$function$;

-- Begins the walk, or lets it go on where it stands. It begins anew when wished, and when the table was attached again.
create function {{schema}}.bootstrap_start(target regclass, restart boolean default false) returns {{schema}}.bootstraps
language plpgsql security definer
set search_path = pg_catalog, pg_temp set row_security = off set lock_timeout = '250ms'
as $function$
declare
  given text[] := {{schema}}.trigger_arguments(target);
  mode text := given[3];
  walk_order text;
  attached timestamptz;
  bootstrap {{schema}}.bootstraps;
begin
  select c.attached_at into attached from {{schema}}.captures c where c.target = bootstrap_start.target;
  if not found then
    raise exception '% is not attached, so changes of rows that are told already would be missed', target
      using errcode = 'undefined_object', hint = 'Attach it first.';
  end if;
  if mode is null then
    raise exception 'the capture trigger of % is missing, or does not always fire', target
      using errcode = 'object_not_in_prerequisite_state', hint = 'Attach the table again.';
  end if;
  if mode = 'append-ordered' then
    raise exception 'rows of % share keys, and older ones would stand behind newer ones of their key', target
      using errcode = 'invalid_table_definition',
            hint = 'Attach it with key_columns that are unique, or read the older rows from the table.';
  end if;
  if mode = 'mutable' and not has_any_column_privilege(target, 'update') then
    raise exception 'role % may not lock rows of %', current_user, target
      using errcode = 'insufficient_privilege', hint = format('grant update on %s to %I; of one column is enough.', target, current_user);
  end if;
  select w.there into walk_order from {{schema}}.walk_along(target, given[4:]) w;
  if walk_order is null then
    raise exception 'the key (%) of % has no unique index any more', array_to_string(given[4:], ', '), target
      using errcode = 'invalid_table_definition', hint = 'Create it again, or attach the table with another key.';
  end if;

  delete from {{schema}}.bootstraps b where not exists (select from pg_class where oid = b.target);
  insert into {{schema}}.bootstraps as b (target, attached_at, walk, rows_estimated)
    select bootstrap_start.target, attached, walk_order, sum(part.reltuples)::bigint
    from pg_class part
    where part.relkind = 'r' and part.reltuples >= 0
      and (part.oid = bootstrap_start.target or part.oid in (select relid from pg_partition_tree(bootstrap_start.target)))
    on conflict on constraint bootstraps_pkey do update
      set attached_at = excluded.attached_at, walk = excluded.walk, place = default, rows_told = default, chunks = default,
          rows_estimated = excluded.rows_estimated, started_at = default, updated_at = default, finished_at = default
      where restart or (b.attached_at, b.walk) is distinct from (excluded.attached_at, excluded.walk);
  select * into bootstrap from {{schema}}.bootstraps b where b.target = bootstrap_start.target;
  return bootstrap;
end
$function$;

-- As it was, and in one style; an autovacuum, which has no application and no user, is called what it is.
create or replace function {{schema}}.blockers_of(target regclass, also_readers boolean) returns text
language sql stable set search_path = pg_catalog, pg_temp set intervalstyle = 'postgres'
as $function$
  select string_agg(
    format('pid %s (%s, transaction open for %s)', held.pid,
      concat_ws(', ', coalesce(nullif(activity.application_name, ''), nullif(activity.backend_type, 'client backend'), 'no application name'),
        activity.usename),
      date_trunc('second', clock_timestamp() - activity.xact_start)), '; ')
  from (select distinct pid from pg_locks
        where locktype = 'relation' and relation = target and granted and pid <> pg_backend_pid()
          and (also_readers or mode not in ('AccessShareLock', 'RowShareLock'))
          and database = (select oid from pg_database where datname = current_database())) as held
  join pg_stat_activity as activity using (pid)
$function$;

-- Who holds rows of the range, for a message: the id on a row that is being changed leads to its session.
create function {{schema}}.holders_of_rows(source text, key text, range text, behind text[], up_to text[]) returns text
language plpgsql stable set search_path = pg_catalog, pg_temp set intervalstyle = 'postgres'
as $function$
declare
  holders text;
begin
  execute format($sql$
    select string_agg(said, '; ') from (
      select format('key %%L by %%s', held.key, coalesce('prepared transaction ' || quote_literal(prepared.gid),
        format('pid %%s (%%s, %%s, transaction open for %%s)', l.pid,
          coalesce(nullif(activity.application_name, ''), 'no application name'), activity.usename,
          date_trunc('second', clock_timestamp() - activity.xact_start)))) as said
      from (select %s as key, t.xmax as holder from %s where %s) as held
      join pg_locks l on l.locktype = 'transactionid' and l.transactionid = held.holder and l.granted
        and l.pid is distinct from pg_backend_pid()
      left join pg_stat_activity activity on activity.pid = l.pid
      left join pg_prepared_xacts prepared on prepared.transaction = held.holder
      limit 3) as named $sql$, key, source, range)
    into holders using behind, up_to;
  return holders;
end
$function$;

-- One chunk: the next rows of the walk, each told as it is now. Its settings of texts are those of capture.
--
-- The end of the chunk is found first, without locks. Then every row up to there is locked and told. By the end of the
-- chunk and not by the last row that was told the place moves: a row whose key is changed meanwhile comes back from the
-- wait for its lock with the new key, far behind rows that were never looked at. Such a row is told by capture, under the
-- old key and the new one, and so is whatever comes into the range later.
--
-- What a chunk waits for it waits for shortly, because its own locks make the table's writers wait meanwhile.
create function {{schema}}.bootstrap_chunk(target regclass, rows_max int) returns {{schema}}.bootstraps
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set row_security = off
set timezone = 'UTC'
set datestyle = 'ISO, YMD'
set intervalstyle = 'iso_8601'
set extra_float_digits = 1
set bytea_output = 'hex'
set lc_monetary = 'C'
set quote_all_identifiers = off
set lock_timeout = '250ms'
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $function$
declare
  bootstrap {{schema}}.bootstraps;
  is_same boolean;
  given text[];
  mode text;
  key text;
  source text := {{schema}}.bootstrap_source(target);
  walk record;
  range text;
  bound text[];
  rows_found bigint;
  keys text[];
  telling text := 'insert into {{schema}}.outbox (topic, key, type, payload, headers) select $3, key, $4, image, $5 from ';
  headers jsonb := jsonb_build_object('tm_table', target::text, 'tm_bootstrap', 'true');
  told bigint := 0;
begin
  if current_setting('transaction_isolation') in ('repeatable read', 'serializable') then
    raise exception 'bootstrap runs in READ COMMITTED only: it must read rows as they are after it has waited for them'
      using errcode = 'feature_not_supported';
  end if;
  select * into bootstrap from {{schema}}.bootstraps b where b.target = bootstrap_chunk.target for update;
  if bootstrap.finished_at is not null then
    return bootstrap;
  end if;
  -- Shared until the end: attach and detach wait, so all of the chunk is of one capture.
  perform from {{schema}}.captures c where c.target = bootstrap_chunk.target and c.attached_at = bootstrap.attached_at for share;
  is_same := found;
  given := {{schema}}.trigger_arguments(target);
  mode := given[3];
  select * into walk from {{schema}}.walk_along(target, given[4:]);
  if not is_same or mode is null or walk.there is distinct from bootstrap.walk then
    raise exception 'the bootstrap of % cannot go on: the table, its key or its capture was changed since it began', target
      using errcode = 'object_not_in_prerequisite_state', hint = 'Start it again; it begins anew.';
  end if;
  key := {{schema}}.key_expression(given[4:], 't');
  range := case when bootstrap.place is null then 'true' else walk.behind end;
  -- Beyond a thousand keys a transaction would lock the whole topic.
  rows_max := greatest(1, least(rows_max, case mode when 'mutable-ordered' then 500 else 10000 end));

  execute format('with page as materialized (select %s from %s where %s order by %s limit %s)
      select %s, (select count(*) from page) from page t order by %s limit 1',
      walk.columns, source, range, walk.there, rows_max, walk.place, walk.back)
    into bound, rows_found using bootstrap.place;
  if bound is not null then
    range := range || ' and ' || walk.up_to;
    if mode = 'mutable-ordered' then
      execute format('select array_agg(key order by key collate "C") from (select %s as key from %s where %s) as found', key, source, range)
        into keys using bootstrap.place, bound;
      perform {{schema}}.lock_key(given[1], one.key) from unnest(keys) as one (key);
      execute telling || format('(select %s as key, to_jsonb(t.*) as image from %s where %s and %s = any ($6) order by %s) as found',
          key, source, range, key, walk.there)
        using bootstrap.place, bound, given[1], given[2], headers, keys;
    else
      -- SHARE waits for everyone who changes or removes the row, and they wait for it; KEY SHARE would not. The rows of an
      -- append-only table never change.
      execute 'with locked as materialized ('
          || format('select %s as key, to_jsonb(t.*) as image from %s where %s order by %s', key, source, range, walk.there)
          || case mode when 'mutable' then ' for share of t' else '' end || ') ' || telling || 'locked'
        using bootstrap.place, bound, given[1], given[2], headers;
    end if;
    get diagnostics told = row_count;
  end if;

  update {{schema}}.bootstraps b
    set place = coalesce(bound, b.place), rows_told = b.rows_told + told, chunks = b.chunks + 1, updated_at = clock_timestamp(),
        finished_at = case when rows_found = rows_max then null else clock_timestamp() end
    where b.target = bootstrap_chunk.target
    returning * into bootstrap;
  return bootstrap;
exception when lock_not_available then
  raise exception 'cannot tell more rows of % yet: %', target, case
      when bound is null then 'another bootstrap, attach or detach of it runs'
      else coalesce('locked is ' || {{schema}}.holders_of_rows(source, key, range, bootstrap.place, bound),
        'it is in use by ' || {{schema}}.blockers_of(target, false), 'a transaction that has just ended held its rows') end
    using errcode = 'lock_not_available', hint = 'Try again.';
end
$function$;

-- attach and detach as they were, but for one wait of 250 ms for all partitions together: whoever writes to one that is
-- locked already waits for the locks of all the others, too.
create function {{schema}}.lock_parts(target regclass, mode text) returns void
language plpgsql set search_path = pg_catalog, pg_temp set lock_timeout = '250ms'
as $function$
declare
  until timestamptz := clock_timestamp() + interval '250 ms';
  part regclass;
begin
  -- The table first, then its partitions, in the order in which Postgres locks them itself.
  for part in select target union all select relid from pg_partition_tree(target) where relid <> target loop
    perform set_config('lock_timeout', greatest(1, (extract(epoch from until - clock_timestamp()) * 1000)::int)::text, true);
    execute format('lock table only %s in %s mode', part, mode);
  end loop;
end
$function$;

create or replace function {{schema}}.attach(
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

  perform {{schema}}.lock_parts(target, 'share row exclusive');
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

create or replace function {{schema}}.detach(target regclass) returns void
language plpgsql set search_path = pg_catalog, pg_temp set lock_timeout = '250ms'
as $function$
declare
  part regclass;
begin
  perform {{schema}}.require_own_transaction('detach');
  delete from {{schema}}.captures c where c.target = detach.target;
  if not found then
    raise exception '% is not attached', target using errcode = 'undefined_object';
  end if;
  perform {{schema}}.lock_parts(target, 'access exclusive');
  execute format('drop trigger if exists %I on %s', {{capture_trigger}}, target);
  for part in select relid from pg_partition_tree(target) union select target loop
    execute format('drop trigger if exists %I on %s', {{truncate_trigger}}, part);
  end loop;
exception when lock_not_available then
  raise exception 'cannot detach %: it is in use by %', target, coalesce({{schema}}.blockers_of(target, true), 'a transaction that has just ended')
    using errcode = 'lock_not_available', hint = 'Try again when that transaction has ended.';
end
$function$;

revoke all on function
  {{schema}}.key_expression(text[], text), {{schema}}.trigger_arguments(regclass), {{schema}}.walk_along(regclass, text[]),
  {{schema}}.bootstrap_source(regclass), {{schema}}.bootstrap_start(regclass, boolean),
  {{schema}}.lock_parts(regclass, text), {{schema}}.holders_of_rows(text, text, text, text[], text[]), {{schema}}.bootstrap_chunk(regclass, int)
  from public;
