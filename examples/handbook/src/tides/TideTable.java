package no.tidewater.tides;

import java.time.Duration;
import java.time.Instant;
import java.util.List;

/** Water level at a pier as a sum of harmonic constituents; good to about five centimetres. */
public final class TideTable {

    /** One constituent: amplitude in metres, speed in degrees an hour, phase in degrees. */
    public record Constituent(String name, double amplitude, double speed, double phase) {}

    private final Instant epoch;
    private final double meanLevel;
    private final List<Constituent> constituents;

    public TideTable(Instant epoch, double meanLevel, List<Constituent> constituents) {
        this.epoch = epoch;
        this.meanLevel = meanLevel;
        this.constituents = List.copyOf(constituents);
    }

    /** Height of the water above chart datum in metres. */
    public double levelAt(Instant moment) {
        double hours = Duration.between(epoch, moment).toSeconds() / 3600.0;
        double level = meanLevel;
        for (Constituent one : constituents) {
            level += one.amplitude() * Math.cos(Math.toRadians(one.speed() * hours - one.phase()));
        }
        return level;
    }

    /**
     * Whether vehicles over 12 tonnes may use the ramp: its angle must stay below 7 degrees, which depends on
     * the water level alone, because the deck of a ferry is always 1.9 metres above it.
     */
    public boolean rampOpenForHeavyVehicles(Instant moment, double quayHeight, double rampLength) {
        double rise = quayHeight - (levelAt(moment) + 1.9);
        return Math.toDegrees(Math.asin(Math.abs(rise) / rampLength)) < 7.0;
    }
}
