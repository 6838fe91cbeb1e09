import type { OAuth } from '../actors/oauth/ports.ts';
import type { Site } from './site.ts';

const NOT_YET = (): never => {
  throw new Error('OAuth2 is not built yet.');
};

export function createOAuth(_site: Site): OAuth {
  return {
    authenticate: async () => null,
    issue: async () => NOT_YET(),
    granted: async () => null,
    deauthorize: async () => false,
  };
}
