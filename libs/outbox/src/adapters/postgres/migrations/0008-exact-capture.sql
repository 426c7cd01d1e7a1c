-- Capture, more exact: no text depends on the session any more (money follows lc_monetary, names follow
-- quote_all_identifiers), a column may be called like the alias of its table, keys may be of types that are not built in,
-- virtual columns are computed, and a key that is null is refused in words that help.

-- What the unique index of a column compares with, where its type is not built in (these have numbers from 16384 on). The
-- search path finds the operators of pg_catalog only: for citext that of text, which its index lacks, for ltree none.
create function {{schema}}.equality_of(target oid, column_name text) returns text
language plpgsql stable set search_path = pg_catalog, pg_temp
as $function$
declare
  base oid := (select a.atttypid from pg_attribute a where a.attrelid = target and a.attname = column_name and not a.attisdropped);
  deeper oid;
  equality text;
begin
  loop
    select y.typbasetype into deeper from pg_type y where y.oid = base and y.typtype = 'd';
    exit when not found;
    base := deeper;
  end loop;
  select format('operator(%I.%s)', n.nspname, o.oprname) into equality
    from pg_opclass c
    join pg_am am on am.oid = c.opcmethod and am.amname = 'btree'
    join pg_amop m on m.amopfamily = c.opcfamily and m.amoplefttype = c.opcintype and m.amoprighttype = c.opcintype
      and m.amopstrategy = 3
    join pg_operator o on o.oid = m.amopopr
    join pg_namespace n on n.oid = o.oprnamespace
    where c.opcintype = base and c.opcdefault;
  -- Enums, arrays, ranges and composite types are compared by operators of pg_catalog.
  return coalesce(equality, 'operator(pg_catalog.=)');
end
$function$;

create or replace function {{schema}}.capture() returns trigger
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
as $function$
declare
  event_topic text := tg_argv[0];
  event_type text := tg_argv[1];
  mode text := tg_argv[2];
  key_columns text[] := tg_argv[3:];
  root regclass := coalesce(pg_partition_root(tg_relid), tg_relid);
  is_fresh boolean := current_setting('transaction_isolation') not in ('repeatable read', 'serializable');
  key_column text;
  key_text text;
  own_types text := 'false';
  has_own_types boolean;
  matches text[] := '{}';
  reading text;
  old_key text;
  new_key text;
  virtual text;
  image jsonb;
  images int;
  event_headers jsonb := jsonb_build_object('tm_table', root::text);
begin
  if mode in ('append', 'append-ordered') and tg_op <> 'INSERT' then
    raise exception '% is captured as append only: % is refused', root, tg_op using errcode = 'restrict_violation';
  end if;

  key_text := case cardinality(key_columns) when 1 then format('($1).%I::text', key_columns[1])
    else {{schema}}.key_expression(key_columns, '($1)') end;
  if mode in ('mutable', 'mutable-ordered') then
    -- Asked along with the key: a look into the catalog for every row would cost a third more.
    foreach key_column in array key_columns loop
      own_types := own_types || format(' or pg_typeof(($1).%I)::oid >= 16384', key_column);
    end loop;
  end if;
  if tg_op <> 'INSERT' then
    execute 'select ' || key_text || ', ' || own_types into old_key, has_own_types using old;
  end if;
  if tg_op <> 'DELETE' then
    execute 'select ' || key_text || ', ' || own_types into new_key, has_own_types using new;
  end if;
  if tg_op <> 'DELETE' and new_key is null then
    raise exception 'the key (%) of a row of % is null, and nothing can be told without a key', array_to_string(key_columns, ', '), root
      using errcode = 'not_null_violation',
            hint = 'Captured keys are NOT NULL, and no virtual columns. Attach the table again with another key.';
  elsif tg_op = 'DELETE' and old_key is null then
    return null; -- From before its column was a key: never told.
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
    image := to_jsonb(new);
    if current_setting('server_version_num')::int >= 180000 then
      -- NEW has no values of virtual columns: they are computed when they are read.
      select string_agg(format('%L, %s', a.attname, pg_get_expr(d.adbin, d.adrelid)), ', ') into virtual
        from pg_attrdef d join pg_attribute a on a.attrelid = d.adrelid and a.attnum = d.adnum
        where d.adrelid = tg_relid and a.attgenerated = 'v';
      if virtual is not null then
        execute format('select $2 || jsonb_build_object(%s) from (select ($1).*) as n', virtual) into image using new, image;
      end if;
    end if;
    insert into {{schema}}.outbox (topic, key, type, payload, headers)
      values (event_topic, new_key, event_type, image, event_headers);
    return null;
  end if;

  -- The first half is for the index. Equal values may have different texts (1.0 and 1.00, or Ab and aB where the
  -- collation says so), and each text is a key of its own in the topic.
  foreach key_column in array key_columns loop
    matches := matches || format('t.%1$I %2$s ($1).%1$I and t.%1$I::text collate "C" = ($1).%1$I::text collate "C"', key_column,
      case when has_own_types then {{schema}}.equality_of(tg_relid, key_column) else '=' end);
  end loop;
  -- ONLY keeps tables that inherit from this one out; partitions are the table itself. `t.*`, because a bare `t` would be
  -- a column of that name.
  reading := format('select to_jsonb(t.*) from %s %s t where %s',
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

-- Attached tables, and partitions of them, of which something is not told, or not in the order of its writers: because a
-- trigger was dropped or switched off, or the key is not any more what it was when the table was attached.
create function {{schema}}.untold_tables() returns table (part regclass, fault text)
language sql stable security definer set search_path = pg_catalog, pg_temp
as $function$
  select found.part, found.fault from (
    select tree.part::regclass as part, case
        when g.oid is null then 'its capture trigger is missing'
        when g.tgenabled = 'D' then 'its capture trigger is disabled'
        when g.tgenabled <> 'A' then 'its capture trigger does not fire for replicated rows'
      end as fault
    from {{schema}}.captures c
    cross join lateral (select c.target::oid as part union select t.relid from pg_partition_tree(c.target) t) as tree
    join pg_class r on r.oid = tree.part and r.relkind in ('r', 'p')
    left join pg_trigger g on g.tgrelid = tree.part and g.tgname = {{capture_trigger}} and g.tgfoid = '{{schema}}.capture()'::regprocedure
    union all
    select c.target, case
        when exists (select from unnest(c.key_columns) as k (name) where not exists (select from pg_attribute a
          where a.attrelid = c.target and a.attname = k.name and not a.attisdropped)) then format('it has no key (%s) any more', array_to_string(c.key_columns, ', '))
        when c.append_only then null
        when u.found is null then format('its key (%s) is not unique and NOT NULL any more', array_to_string(c.key_columns, ', '))
        when u.found = 'at commit' and g.mode = 'mutable' then format('its key (%s) is deferrable now', array_to_string(c.key_columns, ', '))
      end
    from {{schema}}.captures c
    join pg_class r on r.oid = c.target
    cross join lateral (select {{schema}}.uniqueness_of(c.target, c.key_columns) as found) as u
    cross join lateral (select ({{schema}}.trigger_arguments(c.target))[3] as mode) as g
  ) as found
  where found.fault is not null
$function$;

-- A row that bootstrap tells has the same text.
alter function {{schema}}.bootstrap_chunk(regclass, int) set lc_monetary = 'C';
alter function {{schema}}.bootstrap_chunk(regclass, int) set quote_all_identifiers = off;

revoke all on function {{schema}}.equality_of(oid, text), {{schema}}.untold_tables() from public;
