# frozen_string_literal: true

require_relative "support"

# The location of an application's segment if /dev/shm has enough space, too little space, or none at all.
class RailsAppSharedMemoryTest < RailsAppTest
  # Counts a visit and lists the existing segments.
  VISIT = <<~'RUBY'
    puts Rails.cache.increment("visits").inspect
    puts (Dir["/dev/shm/tiercel-*.v*"] + Dir[File.join(Dir.tmpdir, "tiercel-*.v*")]).reject { |path|
      path.match?(/\.(lock|place)\z/) }.uniq.join(" ")
  RUBY

  def setup
    skip "a /dev/shm of its own needs root and unshare" unless SmallSharedMemory.available?
  end

  # @yieldparam app [RailsApp]
  # @yieldparam env [Hash] an environment with the test's own temporary directory
  def with_shared_memory(size)
    with_app do |app|
      with_tmpdir do |dir|
        SmallSharedMemory.open(size) do |prefix|
          app.prefix = prefix
          yield app, { "TMPDIR" => dir }
        end
      end
    end
  end

  def segments(rans) = rans.flat_map { |ran| out(ran).lines.last.split }.uniq

  def fill(app)
    system(*app.prefix, "dd", "if=/dev/zero", "of=/dev/shm/other", "bs=1M", err: File::NULL) # ends when it is full
  end

  def test_room_for_one
    with_shared_memory("64m") do |app, env|
      rans = app.runners([VISIT] * 2, env:)
      assert_equal %w[1 2], rans.map { |ran| out(ran).lines.first.chomp }.sort
      assert_equal 1, segments(rans).size, rans.join
      assert_match(%r{\A/dev/shm/tiercel-shop-production-\d+-\h{8}\.v\d+\z}, segments(rans).first)
      fill(app)
      late = app.runner(VISIT, env:)
      assert_equal ["3", segments(rans).first], out(late).split("\n")
      assert_match(/^#{segments(rans).first} /, out(app.task("tiercel:segments", env:)))
    end
  end

  def test_a_cache_that_cannot_be_made
    with_shared_memory("64m") do |app, _env|
      fill(app)
      env = { "TMPDIR" => "/dev/shm" }
      pages = <<~RUBY
        browser = ActionDispatch::Integration::Session.new(Rails.application)
        values = [Rails.cache.read("n"), Rails.cache.increment("n")]
        puts [browser.get("/"), browser.get("/search"), *values.map(&:inspect)].join(" ")
      RUBY
      assert_equal "200 200 nil nil", out(app.runner(pages, env:)).chomp
      reports = app.log.lines.grep(/cannot be created: requested .* free .*--shm-size/)
      assert_equal 1, reports.size, app.log
      assert_match(/Until then every call is a miss/, reports.first)
      refute_match(/read_entry .* failed/, app.log)
    end
  end

  def test_segments_of_other_secrets
    with_shared_memory("512m") do |app, env|
      app.cache_store = %(:tiercel_store, "shared:", { size: "16MB" })
      build = { **env, "SECRET_KEY_BASE" => nil, "SECRET_KEY_BASE_DUMMY" => "1" }
      assert_equal ["1", ""], out(app.runner(VISIT, env: build)).split("\n", -1).first(2), "memory: for asset builds"
      rotated = out(app.runner(VISIT, env: { **env, "SECRET_KEY_BASE" => "0ther" * 8 })).split("\n").last
      both = out(app.runner(VISIT, env:)).split("\n").last.split
      assert_equal 2, both.size
      prune = "Rails.application.load_tasks; 2.times { Rake::Task['tiercel:segments:prune'].execute }\n"
      assert_equal ["Removed #{rotated}.", "Nothing to remove.", "2", *(both - [rotated])],
                   out(app.runner(prune + VISIT, env:)).split("\n")
    end
  end
end
