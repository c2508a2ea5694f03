package loomlab.data;

import java.util.concurrent.ThreadLocalRandom;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.stereotype.Component;

/** The users of the database: their ids are 1 to lab.users. */
@Component
public class UserIds {

    private final long users;

    UserIds(@Value("${lab.users:10000}") long users) {
        this.users = users;
    }

    public long any() {
        return ThreadLocalRandom.current().nextLong(1, users + 1);
    }
}
