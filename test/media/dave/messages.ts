import { VOICE_OP } from '../../../protocol/voice.ts';
import { DaveyCall, DaveyClient, user } from './daveycall.ts';

const { DAVE_MLS_COMMIT_WELCOME } = VOICE_OP;

/** The key package that a client sends when it begins. */
export function keyPackage(userId: string): Buffer {
  const client = new DaveyClient(userId);
  client.begin();
  return payloadOf(client);
}

function payloadOf(client: DaveyClient): Buffer {
  const message = client.up.shift();
  if (message === undefined || !('payload' in message)) throw new Error('There is no message.');
  return message.payload;
}

/** Commits with a Welcome and without one, of groups small and larger. */
export function commits(): Buffer[] {
  return [2, 9].flatMap((size) => {
    const call = new DaveyCall(size);
    for (let index = 0; index < size; index += 1) call.join(user(index));
    call.rest();
    return [() => call.join(user(50)), () => call.leave(user(0))].map((change) => {
      change();
      for (;;) {
        for (const client of call.clients.values()) {
          const [message] = client.up;
          const isCommit = message && 'payload' in message && message.op === DAVE_MLS_COMMIT_WELCOME;
          if (!isCommit) continue;
          const { payload } = message;
          call.rest();
          return payload;
        }
        if (!call.step()) throw new Error('Nobody commits.');
      }
    });
  });
}
