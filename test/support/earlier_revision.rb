# frozen_string_literal: true

require "fileutils"
require "open3"
require "rbconfig"
require "tmpdir"
require_relative "committed_files"
require_relative "unoptimized"

# Another version of Tiercel, compiled in its own folder. Its processes run concurrently with this one and use the
# same gems.
class EarlierRevision
  ROOT = CommittedFiles::ROOT

  # @param revision [String]
  # @return [Boolean] whether this clone contains it; a shallow clone does not
  def self.available?(revision)
    system("git", "-C", ROOT, "cat-file", "-e", "#{revision}^{commit}", out: File::NULL, err: File::NULL)
  end

  # @param revision [String]
  # @return [EarlierRevision]
  def self.checkout(revision)
    new do |folder|
      statuses = Open3.pipeline(["git", "-C", ROOT, "archive", revision, "lib", "ext"], ["tar", "-x", "-C", folder])
      raise "git archive #{revision} failed" unless statuses.all?(&:success?)
    end
  end

  def initialize
    @folder = File.realpath(Dir.mktmpdir("tiercel-revision-"))
    owner = Process.pid
    at_exit { FileUtils.rm_rf(@folder) if Process.pid == owner }
    yield @folder
    output, status = Open3.capture2e(UNOPTIMIZED, RbConfig.ruby, File.join(@folder, "ext/compile.rb"))
    raise "it does not compile:\n#{output}" unless status.success?
  end

  # Runs a process of this version until the block ends.
  #
  # @param script [String] Ruby code that runs first; its variables are visible to the expressions
  # @yieldparam ask [#call] evaluates an expression and returns its value
  def run(script)
    environment = { "RUBYLIB" => load_path, "RUBYOPT" => nil, "BUNDLER_SETUP" => nil, "BUNDLE_GEMFILE" => nil }
    IO.popen([environment, RbConfig.ruby, "-e", LOOP], "r+") do |process|
      ask = lambda { |expression|
        process.puts([Marshal.dump(expression)].pack("m0"))
        kind, value = Marshal.load((process.gets || raise("the other process ended")).unpack1("m"))
        kind == :value ? value : raise("the other process: #{value}")
      }
      ask.call("#{script}; nil")
      loaded = ask.call("$LOADED_FEATURES.grep(/(lib|tiercel)\\/tiercel(\\.rb|\\/segment_ext)/)")
      raise "another version is loaded: #{loaded}" if loaded.empty? || !loaded.all? { |path| path.start_with?(@folder) }
      yield ask
    end
  end

  LOOP = <<~'RUBY'
    $stdout.sync = true
    context = binding
    while (line = $stdin.gets)
      answer = begin
        [:value, context.eval(Marshal.load(line.unpack1("m")))]
      rescue Exception => error
        [:error, error.full_message(highlight: false)]
      end
      puts [Marshal.dump(answer)].pack("m0")
    end
  RUBY
  private_constant :LOOP

  private

  def load_path
    others = $LOAD_PATH.map(&:to_s).reject { |path| path.start_with?("#{ROOT}/") }
    [File.join(@folder, "lib"), *others].join(File::PATH_SEPARATOR)
  end
end
