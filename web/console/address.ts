/** The part of the address behind `#` that names a page of the console. */
export const hashOf = (page: string): string => `#${page.toLowerCase().replaceAll(' ', '-')}`;

/** The page that an address names; null for an address without one. */
export const pageIn = <Page extends string>(hash: string, pages: readonly Page[]): Page | null =>
  pages.find((page) => hashOf(page) === hash) ?? null;
