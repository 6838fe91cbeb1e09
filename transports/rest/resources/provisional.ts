import { resource } from '../operation.ts';

export const provisional = resource({});

export const provisionalUnlisted = resource({});
