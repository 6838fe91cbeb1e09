import { path } from '../http.ts';
import { commandsIn, type IndexedCommand } from '../interactions/invocation.ts';
import { createPerson, type Person, type Place } from '../interactions/person.ts';
import { notReady } from '../result.ts';
import type { Core } from './core.ts';

/** The applications of a server, as people use them. Games act for players and may not use them. */
export class Applications {
  readonly #core: Core;
  readonly #person: Person;

  constructor(core: Core) {
    this.#core = core;
    const { http, session, dispatched } = core;
    this.#person = createPerson({
      get sessionId() {
        if (session.sessionId === null) throw notReady();
        return session.sessionId;
      },
      commands: (place) => this.#commands(place),
      async send(body, files) {
        await http.call({ method: 'POST', path: '/interactions', body, files });
      },
      listen: dispatched.add,
    });
  }

  /**
   * The current user, who runs commands, presses buttons and fills in forms. Each method resolves with what the user
   * sees. Needs the option `usesApplications` and the user's own token, as `updateToken` takes it.
   */
  getPerson(): Person {
    return this.#person;
  }

  async #commands({ guildId, channelId }: Place): Promise<readonly IndexedCommand[]> {
    const place = guildId === null ? path`/channels/${channelId}` : path`/guilds/${guildId}`;
    const indexes = [place, '/users/@me'].map((at) =>
      this.#core.http.call({ method: 'GET', path: `${at}/application-command-index` }),
    );
    return commandsIn(await Promise.all(indexes));
  }
}
