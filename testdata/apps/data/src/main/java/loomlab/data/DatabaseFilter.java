package loomlab.data;

import org.springframework.boot.autoconfigure.AutoConfigurationImportFilter;
import org.springframework.boot.autoconfigure.AutoConfigurationMetadata;
import org.springframework.context.EnvironmentAware;
import org.springframework.core.env.Environment;

/**
 * Leaves Boot's database configurations out unless a URL is given; with one, they are
 * Boot's own in every detail. Without this an app with a driver on its classpath
 * would not start before it has a database.
 */
class DatabaseFilter implements AutoConfigurationImportFilter, EnvironmentAware {

    private Environment environment;

    @Override
    public void setEnvironment(Environment environment) {
        this.environment = environment;
    }

    @Override
    public boolean[] match(String[] configurations, AutoConfigurationMetadata metadata) {
        boolean[] matches = new boolean[configurations.length];
        for (int i = 0; i < matches.length; i++) {
            matches[i] = configurations[i] == null || wanted(configurations[i]);
        }
        return matches;
    }

    /** By its simple name: the packages moved between Boot 3.x and 4.x. What else concerns databases depends on these two. */
    private boolean wanted(String configuration) {
        return switch (configuration.substring(configuration.lastIndexOf('.') + 1)) {
            case "DataSourceAutoConfiguration" -> environment.containsProperty("spring.datasource.url");
            case "R2dbcAutoConfiguration" -> environment.containsProperty("spring.r2dbc.url");
            default -> true;
        };
    }
}
