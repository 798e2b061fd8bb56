# frozen_string_literal: true

# Compiles the C extensions for the Ruby that runs this, into lib/tiercel, where no gem installation does it: Bundler
# builds the extensions of gems from a registry and of `git:`, not of `path:`.
#
#   ruby PATH_OF_TIERCEL/ext/compile.rb

require "fileutils"
require "open3"
require "rbconfig"
require "tmpdir"

# One folder of ext/tiercel.
Compilation = Struct.new(:folder) do
  # @param target [String] folder for the library
  # @return [String] path of the library
  def into(target)
    Dir.mktmpdir("tiercel-compile-") do |work|
      run(RbConfig.ruby, "#{folder}/extconf.rb", chdir: work)
      run(ENV.fetch("MAKE", "make"), "--silent", chdir: work)
      library = Dir["#{work}/*.#{RbConfig::CONFIG["DLEXT"]}"].first
      path = File.join(target, File.basename(library))
      FileUtils.cp(library, "#{path}.new")
      File.rename("#{path}.new", path) # who has the old one loaded keeps it
      path
    end
  end

  private

  def run(*command, **options)
    output, status = Open3.capture2e(*command, **options)
    abort "#{command.join(" ")} failed:\n#{output}" unless status.success?
  rescue Errno::ENOENT => error
    abort "#{error.message}: a C compiler and make are needed (Debian: apt-get install build-essential)"
  end
end

Dir["#{__dir__}/tiercel/*/extconf.rb"].sort.each do |extconf|
  puts Compilation.new(File.dirname(extconf)).into(File.expand_path("../lib/tiercel", __dir__))
end
