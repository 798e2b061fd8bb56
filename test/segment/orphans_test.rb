# frozen_string_literal: true

# suites: store*

require "test_helper"
require "rake"
require "tiercel/segment"
require_relative "../support/held_by_another"
require_relative "../support/rails_stub"

# Segments that an application left behind with other secrets.
class SegmentOrphansTest < Tiercel::TestCase
  include RailsStub

  def setup
    @current = made("current")
    @former = made("former")
    @foreign = File.join(dir, "tiercel-my_shop_two-production-#{Process.euid}-00000000.v3")
    Tiercel::Segment.open(@foreign, bytes: 1 << 20).close
  end

  def test_the_tasks_know_what_is_the_applications_own
    cache = Tiercel.new("shared:#{@current}")
    with_places do
      in_rails("current") do
        Rails.define_singleton_method(:cache) { cache }
        list = run_task("tiercel:segments")
        [@current, @former, @foreign].each { |path| assert_includes list, path }
        assert_match(/#{@current} to 2.0 MB/, run_task("tiercel:segments:resize", nil, "2MB"))
        assert_equal "Removed #{@former}.\n", run_task("tiercel:segments:prune")
        assert_equal "Nothing to remove.\n", run_task("tiercel:segments:prune")
        assert_match(/\ARemoved #{@current}\./, run_task("tiercel:segments:remove"))
        Tiercel::Segment.open(jobs = @current.sub("my_shop", "jobs"), bytes: 1 << 20).close
        assert_equal "Removed #{jobs}.\n", run_task("tiercel:segments:prune"), "another name, the same secret"
      end
    end
    assert_path_exists @foreign
  ensure
    cache&.close
  end

  def test_the_tasks_take_the_segments_of_the_cache_with_its_tiers
    paths = %w[near last].map { |name| "#{dir}/#{name}" }
    cache = Tiercel.new("shared:#{paths.first}?size=1MB", "file:#{dir}/files")
    with_places do
      in_rails("current") do
        Rails.define_singleton_method(:cache) { cache }
        assert_match(/#{paths.first} to 2.0 MB/, run_task("tiercel:segments:resize", nil, "2MB"))
        # The segment with the default name is a leftover of an earlier configuration.
        assert_match(/^Removed #{@current}/, run_task("tiercel:segments:prune"))
        assert_match(/\ARemoved #{paths.first}\./, run_task("tiercel:segments:remove"))
      end
    end
    cache.close
  end

  def test_remove_says_that_processes_make_the_segment_again
    HeldByAnother.while(-> { Tiercel::Segment.open_existing(@former) }) do
      said = run_task("tiercel:segments:remove", @former)
      assert_match(/Removed #{@former}\. A process that uses it recreates it/, said)
    end
  end

  private

  def place(secret) = in_rails(secret) { place_here }

  def place_here(text = "", **) = Tiercel::Segment::Place.new(text, directory: dir, **)

  def made(secret)
    path = place(secret).path
    Tiercel::Segment.open(path, bytes: 1 << 20).close
    path
  end

  def run_task(name, *arguments)
    application = Rake.with_application { load File.expand_path("../../lib/tasks/tiercel.rake", __dir__) }
    capture_io { application[name].invoke(*arguments) }.first
  end

  # Puts named segments into this test's directory.
  def with_places
    directory = dir
    original = Tiercel::Segment::Place.method(:new)
    report = Tiercel::Segment::Report.method(:new)
    replace(Tiercel::Segment::Place) do |text, **|
      original.call(text, directory:)
    end
    replace(Tiercel::Segment::Report) { report.call(directory) }
    yield
  ensure
    [Tiercel::Segment::Place, Tiercel::Segment::Report].each { |type| type.singleton_class.remove_method(:new) }
  end

  def replace(type, &) = type.define_singleton_method(:new, &)
end
