import type { Lobbies } from '../actors/lobby/ports.ts';
import type { Site } from './site.ts';

export const createLobbies = (_site: Site): Lobbies => ({
  merge: async () => {},
  unmerge: async () => {},
  opened: async () => [],
  ended: () => {},
  voiceStates: () => {},
  voiceServerPing: () => {},
  drop: () => {},
  close: () => {},
  messageInChannel: () => {},
});
