import { codecContract } from './codec.contract.ts';
import { createMemoryCodec, createMemorySchemaStore } from './memory-codec.ts';

const store = createMemorySchemaStore();
let topics = 0;

codecContract('memory', {
  open: () => createMemoryCodec({ store }),
  newTopic: () => {
    topics += 1;
    return `topic-${topics}`;
  },
});
