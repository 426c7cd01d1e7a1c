/** Our patience in the words of kafkajs, apart from it, since writers are known before it is loaded. */
import { PRODUCER_RETRIES_MAX, PRODUCER_RETRY_MS_MAX, PRODUCER_RETRY_MS_MIN } from '../../limits.ts';

export const retryPolicy = {
  initialRetryTime: PRODUCER_RETRY_MS_MIN,
  maxRetryTime: PRODUCER_RETRY_MS_MAX,
  retries: PRODUCER_RETRIES_MAX,
};
