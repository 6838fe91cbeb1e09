import { type Client, status } from '@grpc/grpc-js';
import { LinkFault } from '../../protocol/faults.ts';
import { LINK_SERVICE } from './packets.ts';

/** Requests to a peer as unary calls: the way of link version 1, kept for rolling upgrades from it. */
export class UnaryAsks {
  readonly #client: Client;
  readonly #calls = new Set<{ cancel(): void }>();

  constructor(client: Client) {
    this.#client = client;
  }

  get size(): number {
    return this.#calls.size;
  }

  /** Resolves with the answer. @throws LinkFault */
  send(packet: Buffer, deadline: number, timeout: () => LinkFault): Promise<Buffer> {
    const { path, requestSerialize, responseDeserialize } = LINK_SERVICE.Ask;
    return new Promise((resolve, reject) => {
      const call = this.#client.makeUnaryRequest(
        path,
        requestSerialize,
        responseDeserialize,
        packet,
        { deadline },
        (error, answer) => {
          this.#calls.delete(call);
          if (!error) resolve(answer ?? Buffer.alloc(0));
          // Whether the peer has executed it is unknown, whatever the status code.
          else if (error.code === status.DEADLINE_EXCEEDED) reject(timeout());
          else reject(new LinkFault('lost', `The reply was lost: ${error.details}`));
        },
      );
      this.#calls.add(call);
    });
  }

  /** Rejects all of them as lost. */
  cancel(): void {
    for (const call of [...this.#calls]) call.cancel();
  }
}
