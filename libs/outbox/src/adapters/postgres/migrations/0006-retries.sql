-- Wishes that rows which could not be sent are tried again at once. The relay takes them; they need not outlive it,
-- because one that starts tries everything soon.
create table {{schema}}.relay_retries (
  id    bigint generated always as identity primary key,
  topic text, -- null = every topic
  key   text  -- null = every key
);
