import { resource } from '../operation.ts';

export const oauth2 = resource({});

export const oauth2Unlisted = resource({});
