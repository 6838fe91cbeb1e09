import type { ClusterInstance, TestCluster } from './cluster.ts';
import type { RecordingSink } from './instance.ts';

type Received = RecordingSink['dispatches'][number];

/** A client with a memory: it resumes wherever it is let, and keeps what it has heard over all its connections. */
export class ResumingClient {
  readonly #cluster: TestCluster;
  readonly #token: string;
  readonly #before: Received[] = [];
  #sink: RecordingSink | null = null;
  #id = '';
  home: ClusterInstance;

  constructor(cluster: TestCluster, token: string, home: ClusterInstance) {
    this.#cluster = cluster;
    this.#token = token;
    this.home = home;
  }

  /** @param until The dispatch that it waits for. */
  async identify(until: string): Promise<void> {
    const { sink, session } = await this.#cluster.while(this.home.connect(this.#token));
    this.#sink = sink;
    this.#id = session.id;
    await this.#cluster.until(() => sink.names.includes(until), until);
  }

  /** Cuts the connection: its dispatches are kept, and no more arrive over it. */
  lose(): void {
    this.#before.push(...(this.#sink?.dispatches.splice(0) ?? []));
    this.#sink = null;
  }

  /** Answers how that went. */
  async resume(home: ClusterInstance): Promise<string> {
    this.lose();
    this.home = home;
    const seq = this.#before.at(-1)?.seq ?? 0;
    const { sink, outcome } = await this.#cluster.while(home.resume(this.#token, this.#id, seq));
    this.#sink = sink;
    return outcome.kind;
  }

  get received(): readonly Received[] {
    return [...this.#before, ...(this.#sink?.dispatches ?? [])];
  }
}
