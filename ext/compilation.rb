# frozen_string_literal: true

require "fileutils"
require "open3"
require "rbconfig"
require "tmpdir"

# Compiles one folder of ext/tiercel for the present Ruby.
Compilation = Struct.new(:folder) do
  # @return [Array<Compilation>] one for each extension
  def self.all = Dir["#{__dir__}/tiercel/*/extconf.rb"].sort.map { |extconf| new(File.dirname(extconf)) }

  # Builds all extensions, or ends the process with the reason and the remedy.
  #
  # @param target [String] folder for the libraries
  def self.to(target)
    all.each { |compilation| puts compilation.into(target) }
  rescue Compilation::Failed => error
    abort "#{error.message}\n#{error.remedy}"
  end

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
    raise Compilation::Failed.new(command, error.message)
  end
end

# A command of a compilation that failed.
class Compilation::Failed < StandardError
  # The reason of a failure is the first match of the first of these patterns that matches.
  TELLING = [/\A.*\berror: .*/, /The compiler failed[^(]*/, /\A.*(\bfailed\b|not found|no such file).*/i].freeze
  LONGEST_REASON = 200

  REMEDY = <<~TEXT
    Tiercel is not installed, because its C extensions could not be built: %s

    They need a C compiler with C11 atomics, make and Ruby's headers:
      Debian, Ubuntu   apt-get install build-essential   (ruby-dev for the system's Ruby)
      Alpine           apk add build-base                (ruby-dev for the system's Ruby)
      Fedora           dnf install gcc make redhat-rpm-config ruby-devel
      macOS            xcode-select --install
    Then install again. For a machine without a compiler, build a precompiled gem: docs/installing.md.
  TEXT

  # @param command [Array<String>]
  # @param output [String] what it printed
  def initialize(command, output)
    lines = output.gsub("#{__dir__}/", "").lines(chomp: true).map(&:strip).reject(&:empty?)
    found = TELLING.lazy.filter_map { |pattern| lines.lazy.filter_map { |line| line[pattern] }.first }.first
    @reason = (found || lines.last || "no output").strip.delete_suffix(".")[0, LONGEST_REASON]
    super("#{command.join(" ")} failed:\n#{output}")
  end

  # @return [String] the reason in one line, and what to install
  def remedy = format(REMEDY, @reason)
end
