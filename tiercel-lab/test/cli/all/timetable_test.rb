# frozen_string_literal: true

require_relative "../../support/lab_case"

class TimetableTest < LabCase
  Timetable = Lab::CLI::All::Timetable

  # A timetable whose clock the test moves.
  def timetable(**options)
    @now = 1_000.0
    Timetable.new(clock: -> { @now }, **options)
  end

  def test_a_quick_run_ends_within_a_quarter_of_an_hour
    table = timetable(quick: true)
    assert_equal [{ budget: %w[--budget 72] }, 180, true], [table.options, table.limit, table.time_left?]
    @now += 14 * 60
    assert_equal [30.0, true], [table.limit, table.time_left?]
    @now += 20
    refute_predicate table, :time_left?
    assert_equal "no time was left: no table begins after 14.5 minutes", table.no_time
  end

  # Each of ten tables takes half as long again as planned. All of them begin, and nine of them end.
  def test_a_quick_run_shares_its_time_among_all_tables
    table = timetable(quick: true)
    begun = Array.new(10) do |index|
      share, others = 1.0 / (10 - index), 9 - index
      assert_predicate table, :time_left?
      assert_operator table.options(share)[:budget].last.to_i, :<=, 75
      table.limit(share, others).tap { |limit| @now += [limit, 60 * 1.5].min }
    end
    assert_equal 9, begun.count { |limit| limit >= 60 * 1.5 }
    table = timetable(quick: true)
    10.times do |index|
      assert_predicate table, :time_left?
      @now += table.limit(1.0 / (10 - index), 9 - index) # however slow the machine is
    end
    assert_operator @now - 1_000.0, :<=, (14.5 * 60) + 0.001
    assert_equal %w[--budget 26], timetable(quick: true).options(0.05)[:budget]
  end

  def test_a_full_run_leaves_budgets_to_the_tables_and_ends_within_70_minutes
    table = timetable(quick: false)
    assert_equal [{}, 1_080, true], [table.options, table.limit, table.time_left?]
    @now += 69.5 * 60
    assert_equal [30.0, true], [table.limit, table.time_left?]
    @now += 60
    refute_predicate table, :time_left?
  end

  def test_the_whole_is_the_users_to_say
    table = timetable(quick: false, minutes: 2.5)
    assert_equal [150.0, "no time was left: no table begins after 2.5 minutes"], [table.limit, table.no_time]
  end

  # A plan takes at most four fifths of the limit: cells keep their budgets on a slower machine too, the rest does not.
  def test_the_plans_fit_into_the_time
    { %w[--quick] => Timetable::QUICK, [] => Timetable::FULL }.each do |arguments, bounds|
      command = Lab::CLI::All::Command.new(out: StringIO.new, err: StringIO.new, program: "bin/lab")
      # The workers of a table take longer on one processor.
      seconds = Etc.stub(:nprocessors, 2) { command.estimate(arguments) }
      assert_operator seconds, :<=, bounds[:whole_seconds] * 0.95, "an estimate may grow"
      command.entries.each do |entry|
        more = entry.used(timetable(quick: arguments.any?).options)
        assert_operator Etc.stub(:nprocessors, 2) { entry.expected_seconds([*arguments, *more]) }, :<=,
                        bounds[:table_seconds] * 0.8, entry.name
      end
    end
  end
end
