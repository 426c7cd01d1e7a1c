-- The only way into the job topic: a request is checked here, in the transaction of whoever asks, because the relay could
-- only stop over a malformed one. Fields and defaults are those of schemas/job-requested.avsc.

create function {{schema}}.job_request_defaults() returns jsonb
language sql immutable set search_path = pg_catalog, pg_temp
as $function$
  select jsonb_build_object(
    'formatVersion', 1, 'parameters', '{}'::jsonb, 'from', 'earliest', 'to', 'now', 'ordering', 'none',
    'chunkRecords', 1000, 'chunkBytes', 1048576, 'concurrency', 0, 'rangesPerPartition', 1, 'attempts', 5,
    'deadLettersMax', 10000, 'onLost', 'stop', 'acceptDuplicates', false, 'priority', 0, 'note', '', 'requestedBy', ''
  )
$function$;

create function {{schema}}.check_job_request(request jsonb) returns void
language plpgsql immutable set search_path = pg_catalog, pg_temp
as $function$
declare
  wrong text;
begin
  select string_agg(quote_literal(field.key), ', ' order by field.key) into wrong
    from jsonb_object_keys(request) as field (key)
    where not ({{schema}}.job_request_defaults() || '{"jobId": "", "topic": "", "handler": ""}') ? field.key;
  if wrong is not null then
    raise exception 'a job request has no field %', wrong using errcode = 'invalid_parameter_value';
  end if;

  select string_agg(quote_literal(needed.key), ', ') into wrong
    from unnest(array['topic', 'handler']) as needed (key) where coalesce(request ->> needed.key, '') = '';
  if wrong is not null then
    raise exception 'a job request needs %', wrong using errcode = 'invalid_parameter_value';
  end if;

  select string_agg(quote_literal(field.key), ', ') into wrong
    from jsonb_each(request) as field
    where field.key in ('jobId', 'topic', 'handler', 'from', 'to', 'ordering', 'onLost', 'note', 'requestedBy')
      and jsonb_typeof(field.value) <> 'string';
  if wrong is not null then
    raise exception 'these fields of a job request must be strings: %', wrong using errcode = 'invalid_parameter_value';
  end if;

  -- One CASE, because a cast in another condition might be tried before the type is known.
  select string_agg(quote_literal(bound.key) || ' (' || bound.low || ' to ' || bound.high || ')', ', ') into wrong
    from (values
      ('formatVersion', 1, 1), ('chunkRecords', 1, 2147483647), ('chunkBytes', 1, 2147483647),
      ('concurrency', 0, 2147483647), ('rangesPerPartition', 1, 2147483647), ('attempts', 1, 2147483647),
      ('deadLettersMax', 0, 9223372036854775807), ('priority', -2147483648, 2147483647)
    ) as bound (key, low, high)
    where case
      when jsonb_typeof(request -> bound.key) <> 'number' then true
      else (request ->> bound.key)::numeric not between bound.low and bound.high
        or trunc((request ->> bound.key)::numeric) <> (request ->> bound.key)::numeric
    end;
  if wrong is not null then
    raise exception 'these fields of a job request must be whole numbers: %', wrong using errcode = 'invalid_parameter_value';
  end if;

  if request ->> 'ordering' not in ('none', 'partition', 'key') then
    raise exception 'ordering is none, partition or key' using errcode = 'invalid_parameter_value';
  end if;
  if request ->> 'onLost' not in ('stop', 'skip') then
    raise exception 'onLost is stop or skip' using errcode = 'invalid_parameter_value';
  end if;
  if jsonb_typeof(request -> 'acceptDuplicates') <> 'boolean' then
    raise exception 'acceptDuplicates is true or false' using errcode = 'invalid_parameter_value';
  end if;
  if (case
    when jsonb_typeof(request -> 'parameters') <> 'object' then true
    else exists (select from jsonb_each(request -> 'parameters') as parameter where jsonb_typeof(parameter.value) <> 'string')
  end) then
    raise exception 'parameters is an object of strings' using errcode = 'invalid_parameter_value';
  end if;
  if request ->> 'jobId' !~ '^[a-zA-Z0-9][a-zA-Z0-9._-]{0,127}$' then
    raise exception 'not a job id: %', quote_literal(request ->> 'jobId')
      using errcode = 'invalid_parameter_value', hint = 'It is 1 to 128 letters, digits, dots, dashes or underscores, beginning with a letter or digit.';
  end if;
end
$function$;

create function {{schema}}.request_job(request jsonb) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $function$
declare
  whole jsonb;
begin
  if request is null or jsonb_typeof(request) <> 'object' then
    raise exception 'a job request is a JSON object' using errcode = 'invalid_parameter_value';
  end if;
  whole := {{schema}}.job_request_defaults()
    || jsonb_build_object('jobId', gen_random_uuid()::text)
    || jsonb_strip_nulls(request);
  perform {{schema}}.check_job_request(whole);
  perform {{schema}}.lock_key({{namespace}} || '.jobs', whole ->> 'jobId');
  insert into {{schema}}.outbox (topic, key, type, payload)
    values ({{namespace}} || '.jobs', whole ->> 'jobId', 'dev.tidemark.JobRequested', whole);
  return whole ->> 'jobId';
end
$function$;

revoke all on function
  {{schema}}.job_request_defaults(), {{schema}}.check_job_request(jsonb), {{schema}}.request_job(jsonb)
  from public;
