import { catalogPages } from './catalog.page.ts';
import { consentPages } from './consent.page.ts';
import { mailPages } from './mail.page.ts';
import type { PageRoutes } from './routes.ts';
import { settingsPages } from './settings.page.ts';
import { signingPages } from './signing.page.ts';
import { storePages } from './store.page.ts';

/** All pages by path. */
export const PAGES: PageRoutes = {
  ...signingPages,
  ...mailPages,
  ...settingsPages,
  ...consentPages,
  ...storePages,
  ...catalogPages,
};
