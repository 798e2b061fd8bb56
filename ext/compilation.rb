# frozen_string_literal: true

require "fileutils"
require "open3"
require "rbconfig"
require "tmpdir"

# Compiles one folder of ext/tiercel for the present Ruby.
Compilation = Struct.new(:folder) do
  # @return [Array<Compilation>] one for each extension
  def self.all = Dir["#{__dir__}/tiercel/*/extconf.rb"].sort.map { |extconf| new(File.dirname(extconf)) }

  # @return [String] "codec" or "segment"
  def name = File.basename(folder)

  # @param target [String] folder for the library
  # @return [String] path of the library
  # @raise [Compilation::Failed]
  def into(target)
    Dir.mktmpdir("tiercel-compile-") do |work|
      run(RbConfig.ruby, "#{folder}/extconf.rb", chdir: work)
      run(ENV.fetch("MAKE", "make"), "--silent", chdir: work)
      install(Dir["#{work}/*.#{RbConfig::CONFIG["DLEXT"]}"].first, target)
    end
  end

  private

  # A process that has loaded the old library keeps it, because the new library is a new file.
  def install(library, target)
    FileUtils.mkdir_p(target)
    path = File.join(target, File.basename(library))
    FileUtils.cp(library, "#{path}.new")
    File.rename("#{path}.new", path)
    path
  end

  def run(*command, **options)
    output, status = Open3.capture2e(*command, **options)
    output = output.b.force_encoding(Encoding::UTF_8).scrub("?")
    raise Compilation::Failed.new(command, output) unless status.success?
  rescue Errno::ENOENT => error
    raise Compilation::Failed.new(command, "#{error.message}: a C compiler and make are needed (Debian: apt-get " \
                                           "install build-essential)")
  end
end

# A command of a compilation that failed.
class Compilation::Failed < StandardError
  # The reason of a failure is the first match of the first of these patterns that matches.
  TELLING = [/\A.*\berror: .*/, /The compiler failed[^(]*/, /\A.*(\bfailed\b|not found|no such file).*/i].freeze
  LONGEST_REASON = 200

  # @return [String] one line
  attr_reader :reason

  # @param command [Array<String>]
  # @param output [String] what it printed
  def initialize(command, output)
    lines = output.gsub("#{__dir__}/", "").lines(chomp: true).map(&:strip).reject(&:empty?)
    found = TELLING.lazy.filter_map { |pattern| lines.lazy.filter_map { |line| line[pattern] }.first }.first
    @reason = (found || lines.last || "no output").strip.delete_suffix(".")[0, LONGEST_REASON]
    super("#{command.join(" ")} failed:\n#{output}")
  end
end
