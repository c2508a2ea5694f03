package loomlab.lab;

import org.springframework.beans.TypeMismatchException;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.bind.annotation.RestControllerAdvice;
import org.springframework.web.server.ServerWebInputException;

/**
 * Counts what a handler throws and answers 500. Nothing is logged: under load
 * thousands of stack traces would become the thing that is measured.
 */
@RestControllerAdvice(annotations = RestController.class)
class ExceptionAdvice {

    private final ExceptionCounts counts;

    ExceptionAdvice(ExceptionCounts counts) {
        this.counts = counts;
    }

    @ExceptionHandler
    ResponseEntity<String> failed(Exception failure) {
        counts.add(failure);
        return ResponseEntity.internalServerError().body(ExceptionCounts.kindOf(failure));
    }

    /** A parameter such as ms=soon: the client's mistake, and no failure of the app. */
    @ExceptionHandler({TypeMismatchException.class, ServerWebInputException.class})
    ResponseEntity<String> misused(Exception mistake) {
        return ResponseEntity.badRequest().body(mistake.getMessage());
    }
}
