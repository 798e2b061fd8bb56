# frozen_string_literal: true

require "fileutils"
require "open3"
require "tmpdir"

# Plants faults in a copy of the repository, one at a time, and runs the tests that should notice. A fault that no test
# notices is a missing test, or code that nothing needs.
#
# test/mutants.rb declares them, with files of DIRECTORIES, and the tests that should notice if they do not mirror the
# file:
#
#   mutant "a TTL is off by one", "segment/read.c", "expires <= now", "expires < now",
#          native: "segment: operations (gcc)"
#   mutant "the cool-down has no maximum", "breaker.rb", "[seconds, MOST].min", "seconds", tests: "breaker/maximum"
class Mutants
  Mutant = Struct.new(:name, :path, :from, :to, :tests, :native)

  # Seconds for the tests of one fault. A fault that makes them hang counts as noticed.
  LIMIT = 300
  DIRECTORIES = %w[lib/tiercel ext/tiercel tiercel-insight/lib/tiercel .].freeze

  def initialize(root, out: $stdout)
    @root = root
    @out = out
    @mutants = []
    @passed = {}
    @commands = {}
    instance_eval(File.read("#{root}/test/native/commands.rb"))
    instance_eval(File.read("#{root}/test/mutants.rb"), "#{root}/test/mutants.rb")
  end

  # @param pattern [Regexp] only faults with such a name
  # @return [Array<Mutant>] faults that no test noticed
  def run(pattern)
    in_copy do |copy|
      misplaced(copy).each { |words| raise words } # before the first fault costs time
      chosen = @mutants.select { |mutant| mutant.name.match?(pattern) }
      survivors = chosen.reject { |mutant| noticed?(copy, mutant) }
      @out.puts "#{chosen.size - survivors.size} of #{chosen.size} faults noticed"
      survivors
    end
  end

  # @return [Array<String>] the faults that cannot be planted: their texts have no place, or several
  def misplaced(root)
    @mutants.filter_map do |mutant|
      places = content_of(root, mutant).scan(mutant.from).size
      "#{mutant.name}: #{mutant.path} has #{places} places with #{mutant.from.inspect}" unless places == 1
    end
  end

  private

  # The C tests: test/native/commands.rb.
  def command(name, shell, **) = @commands[name] = shell

  def mutant(name, path, from, to, tests: nil, native: nil)
    tests ||= path.delete_suffix(".rb") unless native
    tests = [*tests].map do |test|
      file = "test/#{test}_test.rb".sub("test/insight/", "tiercel-insight/test/")
      File.file?("#{@root}/#{file}") ? file : test
    end
    path = DIRECTORIES.map { |directory| "#{directory}/#{path}" }.find { |file| File.file?("#{@root}/#{file}") } || path
    @mutants << Mutant.new(name, path, from, to, tests, native)
  end

  # The working tree without what git ignores, but with the set-up and the extensions.
  def in_copy
    Dir.mktmpdir("tiercel-mutants-") do |dir|
      copy = "#{dir}/tiercel"
      FileUtils.mkdir_p("#{copy}/tmp")
      files = IO.popen(%w[git ls-files -z --cached --others --exclude-standard], chdir: @root, &:read).split("\0")
      files.select { |file| File.file?("#{@root}/#{file}") }.each do |file|
        FileUtils.mkdir_p(File.dirname("#{copy}/#{file}"))
        FileUtils.cp("#{@root}/#{file}", "#{copy}/#{file}", preserve: true)
      end
      FileUtils.cp_r("#{@root}/tmp/setup", "#{copy}/tmp/setup")
      Dir["#{@root}/lib/tiercel/*_ext.*"].each { |library| FileUtils.cp(library, "#{copy}/lib/tiercel") }
      yield copy
    end
  end

  def content_of(copy, mutant) = File.read("#{copy}/#{mutant.path}")

  def noticed?(copy, mutant)
    by = with_fault(copy, mutant) { failed(copy, mutant) }
    raise "#{mutant.name}: cannot be loaded (a warning?)" if by&.start_with?("LoadError#")
    # A test that fails without a fault would notice every fault.
    raise "#{by} fails without a fault" if by && !(@passed[[by, mutant.tests]] ||= failed(copy, mutant, by).nil?)
    @out.puts "#{by ? "noticed " : "SURVIVED"}  #{mutant.name}#{"  (#{by})" if by}"
    @out.flush
    !by.nil?
  end

  def with_fault(copy, mutant)
    content = content_of(copy, mutant)
    File.write("#{copy}/#{mutant.path}", content.sub(mutant.from) { mutant.to })
    yield
  ensure
    File.write("#{copy}/#{mutant.path}", content)
  end

  # Runs the fault's tests, or `only` one of them. The C tests need no build of the extensions.
  #
  # @return [String, nil] the first test that failed
  def failed(copy, mutant, only = nil)
    build, test = @commands.fetch(mutant.native).split(" && ", 2) if mutant.native
    build ||= "bin/setup --quiet core" if mutant.path.start_with?("ext/")
    build ||= "RUBYOPT= #{RbConfig.ruby} -wc #{mutant.path} 2>&1 | cmp - <(echo Syntax OK)" # tests notice each warning
    raise "#{mutant.name}: does not compile" if build && !status_of(copy, "bash", "-c", build).last.success?
    return (mutant.native unless status_of(copy, "bash", "-c", test).last.success?) if test

    output, status = status_of(copy, "bin/test", *mutant.tests, *(["-n", only] if only&.include?("#")))
    return if status.success?
    raise output if status.exitstatus == 2
    output[/^  \w+: (\S+#\S+)$/, 1] || mutant.tests.join(" ")
  end

  def status_of(copy, *command)
    Open3.capture2e("timeout", "-k", "5", LIMIT.to_s, *command, chdir: copy, stdin_data: "")
  end
end
