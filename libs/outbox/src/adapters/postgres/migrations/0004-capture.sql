-- Projecting a mutable table: a trigger writes the row as it is *now* for every key that a statement touched.
--
-- NEW is not the row: a nested trigger, a sibling trigger, a deferrable key or a move between partitions may have
-- overtaken it when an AFTER trigger runs. Reading the row again by its key is always true of this moment, and the last
-- touch of a key reads its last state. States inside one transaction may coalesce; the last one never gets lost.

create table {{schema}}.captures (
  target      regclass primary key,
  topic       text not null unique,
  key_columns text[] not null,
  event_type  text not null,
  append_only boolean not null,
  attached_at timestamptz not null default now()
);

-- What it means that a key has several rows. Under a deferrable constraint they may be there for a while; whatever leaves
-- one of them touches the key again, and that later reading tells the truth. Under an index that checks at once, a
-- snapshot that is older than the statement sees the row that another transaction has taken away meanwhile.
create function {{schema}}.refuse_twins(root regclass, is_fresh boolean) returns void
language plpgsql set search_path = pg_catalog, pg_temp
as $function$
begin
  if not is_fresh then
    raise exception 'could not capture % due to a concurrent change of the same key', root
      using errcode = 'serialization_failure', hint = 'Try the transaction again.';
  end if;
  raise exception 'rows of % share a key, although it is captured by a unique one', root
    using errcode = 'cardinality_violation', hint = 'Was the constraint changed? Attach the table again.';
end
$function$;

-- Trigger arguments: topic, event type, mode, key columns ... What orders the writers of a key depends on the mode:
--
--   mutable          the row's lock and the unique index: whoever brings a key waits for whoever had it
--   mutable-ordered  the advisory lock: a deferrable constraint lets several writers bring one key and looks at commit
--   append           nothing: rows never change, and a key has one
--   append-ordered   the advisory lock: rows never change, and a key has many
--
-- The settings make the text of a value independent of the session; row_security = off makes a policy an error instead
-- of a row that seems to be gone.
create function {{schema}}.capture() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set row_security = off
set timezone = 'UTC'
set datestyle = 'ISO, YMD'
set intervalstyle = 'iso_8601'
set extra_float_digits = 1
set bytea_output = 'hex'
as $function$
declare
  event_topic text := tg_argv[0];
  event_type text := tg_argv[1];
  mode text := tg_argv[2];
  root regclass := coalesce(pg_partition_root(tg_relid), tg_relid);
  is_fresh boolean := current_setting('transaction_isolation') not in ('repeatable read', 'serializable');
  key_texts text[] := '{}';
  matches text[] := '{}';
  key_text text;
  reading text;
  old_key text;
  new_key text;
  image jsonb;
  images int;
  event_headers jsonb := jsonb_build_object('tm_table', root::text);
begin
  if mode in ('append', 'append-ordered') and tg_op <> 'INSERT' then
    raise exception '% is captured as append only: % is refused', root, tg_op using errcode = 'restrict_violation';
  end if;

  for i in 3 .. tg_nargs - 1 loop
    key_texts := key_texts || format('($1).%I', tg_argv[i]);
    -- The first half is for the index. Equal values may have different texts (1.0 and 1.00, or Ab and aB where the
    -- collation says so), and each text is a key of its own in the topic.
    matches := matches
      || format('t.%1$I = ($1).%1$I and t.%1$I::text collate "C" = ($1).%1$I::text collate "C"', tg_argv[i]);
  end loop;
  key_text := case when tg_nargs = 4 then key_texts[1] || '::text'
    else format('jsonb_build_array(%s)::text', array_to_string(key_texts, ', ')) end;
  if tg_op <> 'INSERT' then
    execute 'select ' || key_text into old_key using old;
  end if;
  if tg_op <> 'DELETE' then
    execute 'select ' || key_text into new_key using new;
  end if;

  if mode = 'mutable-ordered' then
    -- Nothing would tell such a snapshot that another writer has brought the key since.
    if not is_fresh then
      raise exception 'the key of % is deferrable, so it is captured in READ COMMITTED only', root
        using errcode = 'feature_not_supported',
              hint = 'Begin the transaction with ISOLATION LEVEL READ COMMITTED, or make the constraint NOT DEFERRABLE and attach the table again.';
    end if;
    -- In one order, so that two who exchange keys do not wait for each other.
    perform {{schema}}.lock_key(event_topic, touched.key)
      from (select distinct given.key collate "C" as key
            from unnest(array[old_key, new_key]) as given (key) where given.key is not null order by 1) as touched;
  end if;

  if mode in ('append', 'append-ordered') then
    if mode = 'append-ordered' then
      perform {{schema}}.lock_key(event_topic, new_key);
    end if;
    insert into {{schema}}.outbox (topic, key, type, payload, headers)
      values (event_topic, new_key, event_type, to_jsonb(new), event_headers);
    return null;
  end if;

  -- ONLY keeps tables that inherit from this one out; partitions are the table itself.
  reading := format('select to_jsonb(t) from %s %s t where %s',
    case when root = tg_relid then 'only' else '' end, root, array_to_string(matches, ' and '));

  if tg_op = 'DELETE' or old_key collate "C" <> new_key then
    execute reading into image using old;
    get diagnostics images = row_count;
    if images > 1 and mode = 'mutable' then
      perform {{schema}}.refuse_twins(root, is_fresh);
    end if;
    insert into {{schema}}.outbox (topic, key, type, payload, headers)
      values (event_topic, old_key, event_type, image, event_headers);
  end if;
  if tg_op <> 'DELETE' then
    execute reading into image using new;
    get diagnostics images = row_count;
    if images > 1 and mode = 'mutable' then
      perform {{schema}}.refuse_twins(root, is_fresh);
    end if;
    insert into {{schema}}.outbox (topic, key, type, payload, headers)
      values (event_topic, new_key, event_type, image, event_headers);
  end if;
  return null;
end
$function$;

-- Every partition has this trigger. One that was taken out of its table keeps it, and is its own affair from then on.
create function {{schema}}.refuse_truncate() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $function$
begin
  if not exists (select from {{schema}}.captures c where c.target = coalesce(pg_partition_root(tg_relid), tg_relid)) then
    return null;
  end if;
  raise exception 'TRUNCATE of % is refused: it is captured, and no row would be told', tg_relid::regclass
    using errcode = 'restrict_violation', hint = 'Use DELETE, or detach the table first.';
end
$function$;

revoke all on function
  {{schema}}.refuse_twins(regclass, boolean), {{schema}}.capture(), {{schema}}.refuse_truncate()
  from public;
