import type { Addresses, Engine } from '../embedding.ts';
import type { PlaygroundAddress } from './banner.ts';
import { RECIPES } from './connect.ts';
import type { Demo } from './demo.ts';

/** A link that signs a browser in as the demo's first user, with programs for the demo's bot. */
export function playgroundLink(engine: Engine, demo: Demo, { api, cdn }: Addresses): PlaygroundAddress {
  const [user] = demo.users;
  const url = `${cdn}/`;
  if (user === undefined) return { url, link: null };
  const token = demo.bots[0]?.token ?? '';
  const recipes = Object.entries(RECIPES).map(([name, { packages, lines }]) => ({
    name,
    install: `npm install ${packages.join(' ')}`,
    program: lines({ api, cdn, token }).join('\n'),
  }));
  const entry = { userId: user.id, demo: { applicationId: demo.application.id, recipes } };
  return { url, link: engine.playground.signInLink(entry) };
}
