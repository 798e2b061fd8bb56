# frozen_string_literal: true

require "fileutils"
require "open3"

# Compiles an extension with AddressSanitizer and UndefinedBehaviorSanitizer.
module SanitizedExtension
  private

  # @return [String, nil] the library to preload into Ruby; nil if the compiler has none
  def sanitizer_library
    path, status = Open3.capture2e("gcc", "-print-file-name=libasan.so")
    path.chomp if status.success? && path.start_with?("/")
  rescue Errno::ENOENT
    nil
  end

  # @param extconf [String]
  # @param name [String] the extension's name, in the folder `tiercel`
  # @param dir [String] a folder for $LOAD_PATH
  # @return [void]
  def build_sanitized(extconf, name, dir)
    [[RbConfig.ruby, extconf], ["make"]].each do |command|
      output, status = Open3.capture2e({ "TIERCEL_SANITIZE" => "1" }, *command, chdir: dir)
      assert_predicate status, :success?, output
    end
    FileUtils.mkdir_p("#{dir}/tiercel")
    FileUtils.mv("#{dir}/#{name}.so", "#{dir}/tiercel/")
  end
end
