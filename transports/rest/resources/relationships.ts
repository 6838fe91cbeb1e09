import { resource } from '../operation.ts';

export const relationships = resource({});
