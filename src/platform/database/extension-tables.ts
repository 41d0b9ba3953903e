/** In SQL, whether the table `c` is of an extension: it belongs to the database, not to the service. PostGIS has one. */
export const IS_OF_EXTENSION = `EXISTS (SELECT FROM pg_depend d
  WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')`;
