import { openKafkaHarness } from '../../testing/kafka-harness.ts';
import { describeLogContract } from '../../testing/log.contract.ts';

describeLogContract('the Kafka adapter', openKafkaHarness);
