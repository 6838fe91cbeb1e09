import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import { ROOT } from './source.ts';

/** A stock bot in a process of its own, because the authority it trusts is read when a process starts. */
export class VoiceBot {
  readonly #child: ChildProcess;
  readonly #open = new Map<number, { resolve: (value: never) => void; reject: (error: Error) => void }>();
  #last = 0;

  constructor(given: { readonly api: string; readonly token: string; readonly caFile: string }) {
    this.#child = fork(join(ROOT, 'test/e2e/bots/voice.mjs'), [], {
      env: { ...process.env, API: given.api, TOKEN: given.token, NODE_EXTRA_CA_CERTS: given.caFile },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    this.#child.on('message', (message: { id: number; value?: never; error?: string }) => {
      const waiting = this.#open.get(message.id);
      this.#open.delete(message.id);
      if (message.error === undefined) waiting?.resolve(message.value as never);
      else waiting?.reject(new Error(message.error));
    });
    this.#child.on('exit', () => {
      for (const { reject } of this.#open.values()) reject(new Error('The bot ended.'));
    });
  }

  do<T = null>(command: string, given: object = {}): Promise<T> {
    this.#last += 1;
    const id = this.#last;
    return new Promise<T>((resolve, reject) => {
      this.#open.set(id, { resolve, reject });
      this.#child.send({ id, command, given });
    });
  }

  /** Frames that it has heard of a user. */
  async heard(userId: string): Promise<Buffer[]> {
    const packets = await this.do<string[]>('recorded', { userId });
    return packets.map((packet) => Buffer.from(packet, 'base64'));
  }

  end(): void {
    this.#child.kill('SIGKILL');
  }
}
