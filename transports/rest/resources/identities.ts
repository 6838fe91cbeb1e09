import { resource } from '../operation.ts';

export const identities = resource({});
